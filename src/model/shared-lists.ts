// Keeps one list where many equal ones are made one after the other, such as those of the servers of a group.

/** Returns the list that it was given, or the one before if that has the same items. It keeps one list. */
export type ShareList = <Item>(list: readonly Item[]) => readonly Item[];

/** Returns a function that shares lists. */
export function listSharing(): ShareList {
  let last: readonly unknown[] = [];
  return <Item>(list: readonly Item[]): readonly Item[] => {
    const isSame = list.length === last.length && list.every((item, index) => item === last[index]);
    // Both hold the same items, so they have the same type.
    if (isSame) return last as readonly Item[];
    last = list;
    return list;
  };
}
