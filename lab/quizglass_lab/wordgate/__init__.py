"""Fits the gate before reading: a small convolutional network that says whether a picture may show words.

`sources` names the photographs and fonts, `samples` draws pictures with and without words, `network` is the network and
its way into ONNX, `fit` trains it, `judge` measures it beside the reader and sets its threshold. What it gives is
`server/quizglass_server/roles/shared/wordgate.onnx`, whose metadata holds the threshold and where it comes from.
"""
