"""The house in words: rooms, files in each, arrows between rooms, arrows back, circles."""

from tests.house.survey import (
    arrows,
    arrows_back,
    arrows_between_rooms,
    circles,
    circles_of_rooms,
    files_by_room,
)


def main() -> None:
    """Print a line for each room, then what is wrong with the arrows."""
    files, between = files_by_room(), arrows_between_rooms()
    for room in sorted(files):
        others = ", ".join(sorted(between.get(room, ())))
        print(f"{room} ({files[room]}) -> {others or 'nothing'}")
    total = sum(len(others) for others in between.values())
    print(f"\n{len(files)} rooms, {sum(files.values())} files, {total} arrows between rooms")
    print(f"arrows back: {len(arrows_back())}")
    for title, circles_found in (("modules", circles(arrows())), ("rooms", circles_of_rooms())):
        print(f"circles between {title}: {len(circles_found)}")
        for members in circles_found:
            print(f"  {', '.join(members)}")


if __name__ == "__main__":
    main()
