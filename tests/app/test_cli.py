from typer.testing import CliRunner

from app.cli import app


def test_serve_says_that_it_is_not_there_yet():
    result = CliRunner().invoke(app, ["serve"])
    assert result.exit_code == 1
    assert "not part of this version" in result.output


def test_help_names_the_commands():
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert "serve" in result.output
