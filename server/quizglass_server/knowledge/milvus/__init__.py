"""Knowledge in Milvus, for more than one server. Imported only when it is chosen: it needs the extra `milvus`."""
