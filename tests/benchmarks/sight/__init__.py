"""What the model sees: accuracy by labels with default settings, beside the plain pipelines that a user would pick.

    python -m tests.benchmarks.sight FOLDER [part ...] [--seeds N]

Where a pretrained model is at hand (`pip install 'asknext[embeddings]'`, and ASKNEXT_TEXT_MODEL or MiniLM in the local
cache) texts are also measured with its embeddings, on both sides.

Both sides get the same pools, tests and first labels. AskNext asks one item at a time by `unc`, and is trained when its
labels have grown by half, as the service does it; pipelines ask by margin, in batches, because each is a new fit.
FOLDER has texts.zip (csv files with the columns text and label), sms_spam.csv, binary_tables.npz (NAME_X, NAME_y),
scene_photos.zip (train/class/..., test/class/...) and npz files with X_train, y_train, X_test, y_test.
"""
