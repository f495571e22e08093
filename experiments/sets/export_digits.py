"""Exports scikit-learn's handwritten digits for `regard_data::sets::generate::Digits`.

    pip install scikit-learn
    python experiments/sets/export_digits.py experiments/sets/digits.npz

1,797 images of 8x8 pixels, whole numbers from 0 (white) to 16, as `images` (1797, 64) and what they
show as `labels` (1797,), both uint8. The same file byte for byte on every run.

Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning
Repository, 1998, https://doi.org/10.24432/C50P49, CC BY 4.0; the test part of it, as scikit-learn
(BSD-3-Clause) ships it in `sklearn.datasets.load_digits`. Changed: stored as bytes in an archive.
"""

import io
import sys
import zipfile

import numpy as np
from sklearn.datasets import load_digits


def member(archive, name, array):
    content = io.BytesIO()
    np.lib.format.write_array(content, array, version=(1, 0))
    # A fixed date: the archive does not depend on when it was made.
    info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content.getvalue(), compresslevel=9)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: export_digits.py OUTPUT.npz")
    digits = load_digits()
    images, labels = digits.data.astype(np.uint8), digits.target.astype(np.uint8)
    assert images.shape == (1797, 64) and images.max() == 16 and (images == digits.data).all()
    with zipfile.ZipFile(sys.argv[1], "w") as archive:
        member(archive, "images", images)
        member(archive, "labels", labels)


if __name__ == "__main__":
    main()
