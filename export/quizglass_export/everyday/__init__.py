"""The everyday bundle: pretrained weights, photographs and facts that packages bring, taught further by own recipes.

Pins which files of which packages are taken; knows nothing of how a bundle is exported or served.
"""
