"""The server's certificate as gRPC takes it. gRPC asks before every handshake whether there is another one."""

from __future__ import annotations

import grpc

from quizglass_server.network.tls import Certificate, ServerTls


def server_credentials(tls: ServerTls) -> grpc.ServerCredentials:
    """Credentials that follow `tls.current`. Connections that are open are not touched by a new one."""
    served = tls.current

    def latest() -> grpc.ServerCertificateConfiguration | None:
        nonlocal served
        if tls.current is served:
            return None
        served = tls.current
        return _configuration(served)

    demanded = served.client_authorities is not None
    return grpc.dynamic_ssl_server_credentials(
        _configuration(served),
        latest,  # type: ignore[arg-type]  # None stands for no change, which its stub lacks
        require_client_authentication=demanded,
    )


def _configuration(certificate: Certificate) -> grpc.ServerCertificateConfiguration:
    pair = (certificate.key, certificate.chain)
    return grpc.ssl_server_certificate_configuration([pair], certificate.client_authorities)
