"""The items of a project: how they are added and stored, their features, their pictures and their encoder."""
