"""python -m app is asknext."""

from app.cli import main

if __name__ == "__main__":
    main()
