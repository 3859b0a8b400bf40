import pytest

from app.label_studio.label_config import read_config
from app.services.problems import Invalid
from tests.app.label_studio.wire import IMAGE, TEXT, config, result

TWO = '<Choices name="other" toName="text"><Choice value="x"/><Choice value="y"/></Choices>'
NESTED = '<Choice value="x"><Choice value="y"/></Choice></Choices>'
BOXES = '<RectangleLabels name="box" toName="text"><Label value="x"/></RectangleLabels>'


def test_a_choice_about_a_text():
    found = read_config(config())
    assert (found.from_name, found.to_name, found.field) == ("label", "text", "text")
    assert (found.classes, found.kind) == (("Positive", "Negative"), "text")
    assert found.choice(found.result("Negative")) == "Negative"


def test_a_choice_about_a_picture_and_about_something_that_is_not_encoded():
    assert read_config(config(IMAGE)).kind == "image"
    assert read_config(config('<Audio name="audio" value="$url"/>')).kind is None


def test_choices_within_a_layout_and_with_aliases():
    choices = '<View><Choice value="A long name" alias="a"/></View><Choice value="b"/>'
    text = f'<View>{TEXT}<View style="x"><Choices name="c" toName="text">{choices}</Choices></View></View>'
    assert read_config(text).classes == ("a", "b")


def test_a_remark_beside_the_choice_is_passed_over():
    assert read_config(config(more='<TextArea name="why" toName="text"/>')).classes == ("Positive", "Negative")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (config(choice="multiple"), 'choice="single"'),
        (config(perRegion="true"), "perRegion"),
        (config(value="$options"), "not come with each task"),
        (config(more=TWO), "exactly one"),
        (config(more=BOXES), "cannot learn RectangleLabels"),
        (f"<View>{TEXT}</View>", "has 0"),
        (config(classes=["only"]), "from 2"),
        (config(classes=["a", "a"]), "of its own"),
        (config(classes=["a" * 201, "b"]), "characters"),
        (config('<Text name="text" value="$a.b"/>'), "one field"),
        (config('<Header name="text" value="Hello"/>'), "toName"),
        (config().replace("</Choices>", NESTED), "within"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>' + config(), "entities"),
        ("<View", "not XML"),
        ("", "not XML"),
        (config() + " " * 2**20, "characters"),
    ],
)
def test_what_is_refused_and_why(text, why):
    with pytest.raises(Invalid, match=why):
        read_config(text)


@pytest.mark.parametrize(
    "said",
    [None, [], result("Positive", "Negative"), result(), result("Positive", name="other"), [{}], ["x"], [{"value": 1}]],
)
def test_results_that_name_no_class(said):
    assert read_config(config()).choice(said) is None
