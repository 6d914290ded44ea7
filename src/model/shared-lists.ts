// Keeps one list where many equal ones are made one after the other, such as those of the servers of a group.
import { isSameList } from './is-same-list.ts';

/** Returns the list that it was given, or the one before if that has the same items. It keeps one list. */
export type ShareList = <Item>(list: readonly Item[]) => readonly Item[];

/** Returns a function that shares lists. */
export function listSharing(): ShareList {
  let last: readonly unknown[] = [];
  return <Item>(list: readonly Item[]): readonly Item[] => {
    // Both hold the same items, so they have the same type.
    if (isSameList(list, last)) return last as readonly Item[];
    last = list;
    return list;
  };
}
