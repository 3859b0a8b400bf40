"""Pictures as files, from scikit-learn's digits."""

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits


def digit_files(folder, n):
    """So many digits of 8 x 8 pixels as PNG files, and what they are."""
    images, labels = load_digits(return_X_y=True)
    paths = []
    for place, image in enumerate(images[:n]):
        paths.append(folder / f"{place}.png")
        Image.fromarray((image.reshape(8, 8) * 15.9).astype(np.uint8)).save(paths[-1])
    return paths, labels[:n]
