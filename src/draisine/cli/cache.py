"""`draisine cache`: the cache of derived and compiled code."""


def cache(*, clear: bool = False) -> None:
    """Print the folder and the size of the cache of derived and compiled code.

    Parameters
    ----------
    clear
        Empty the cache. Code that is needed later is derived again.
    """
    from draisine.codegen.cache import Store

    store = Store()
    entries = store.entries()
    size = sum(entries.values()) / 1e6
    print(f"{store.folder}: {len(entries)} entries, {size:.1f} MB")
    if clear:
        print(f"{store.clear()} entries removed")
