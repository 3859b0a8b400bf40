import pytest

from core.classes import class_names


def test_trees_by_name():
    named = class_names(["robin", "tit", "car"], {"robin": "bird", "tit": "bird", "bird": None, "owl": "bird"})
    assert named.classes == ("car", "owl", "robin", "tit")
    assert named.names == ("car", "owl", "robin", "tit", "bird")
    assert named.numbers(["bird", "car"]).tolist() == [4, 0]
    assert named.tree.under(named.numbers(["bird"])).tolist() == [[False, True, True, True]]
    with pytest.raises(ValueError, match="cycle"):
        class_names(["a"], {"a": "b", "b": "a"})
