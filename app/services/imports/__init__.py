"""Files of items: how each form is read, encoded where it is raw, and added portion by portion."""
