"""`draisine cache`."""


def cache(*, clear: bool = False) -> None:
    """Tell where derived and compiled code is kept, and how much of it there is.

    :param clear: Remove it; what is needed again is made anew.
    """
    from draisine.codegen.cache import Store

    store = Store()
    entries = store.entries()
    size = sum(entries.values()) / 1e6
    print(f"{store.folder}: {len(entries)} entries, {size:.1f} MB")
    if clear:
        print(f"{store.clear()} entries removed")
