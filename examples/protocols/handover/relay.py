"""Three processes hand a picture over to each other, row by row: nobody has a copy, and no server has it.

Each claims the picture, works on something else while it waits, adds a row of its own and lets the next one have it.
One of them dies while it writes; what it had not released counts for nothing, and the others go on.
"""

import multiprocessing
import os
import secrets
import signal
import sys
import time

import solvent

PROCESSES, ROWS, COLUMNS = 3, 12, 40
SHADES = " .:*"


def draw(name: str, number: int) -> None:
    with solvent.shared.join(name) as space, space.handle("picture", array=((ROWS + 1, COLUMNS), "u1")) as picture:
        row = 0
        while row < ROWS:
            picture.request()
            shade = number % len(SHADES)
            picture.acquire()
            # The first entry counts the rows that are done.
            row = int(picture.array[0, 0])
            if number == PROCESSES and row >= ROWS // 2:
                picture.array[1 + row, row:] = shade
                os.kill(os.getpid(), signal.SIGKILL)
            # The last row waits until the others have noticed who is missing.
            if row < ROWS - 1 or (row < ROWS and len(space.members) <= PROCESSES):
                picture.array[1 + row, row:] = shade
                picture.array[0, 0] += 1
            picture.release()
            time.sleep(0.001)


def main() -> None:
    name = f"relay {secrets.token_hex(8)}"
    with solvent.shared.join(name) as space, space.handle("picture", array=((ROWS + 1, COLUMNS), "u1")) as picture:
        context = multiprocessing.get_context("spawn")
        processes = [context.Process(target=draw, args=(name, number + 1)) for number in range(PROCESSES)]
        picture.acquire()
        for process in processes:
            process.start()
        while len(space.members) <= PROCESSES:
            time.sleep(0.01)
        picture.release()
        for process in processes:
            process.join()
        picture.acquire("read")
        rows = picture.array[1:]
        done = sum(int(rows[row, row]) in range(1, PROCESSES + 1) for row in range(ROWS))
        if "--show" in sys.argv:
            print("\n".join("".join(SHADES[shade % len(SHADES)] for shade in row) for row in rows))
        killed = sum(process.exitcode == -signal.SIGKILL for process in processes)
        print(f"{done} rows by {PROCESSES} processes, {killed} of which died in the middle of one")


if __name__ == "__main__":
    main()
