// The actions of a run, as data, so that any of them can be left out and the others are still carried out.
import type { FollowedPlace } from '../../src/model/rows.ts';
import type { Provider } from '../../src/providers/provider.ts';
import type { RemoteMood } from './simulated-git.ts';
import type { SiteMood } from './simulated-site.ts';
import type { Shape } from './stacks.ts';

/** How a file may stop being readable while something still stands there under its name. */
export const SPOILS = [
  ...(['link', 'submodule', 'yml', 'upper', 'blank', 'folder', 'broken'] as const),
  ...(['hidden', 'backup', 'bak'] as const),
] as const;
export type Spoil = (typeof SPOILS)[number];

/** What a commit does to one file. */
export type Edit =
  | { readonly instance: string; readonly set: Partial<Shape> }
  /** The instance gets the servers of another one, which is removed. */
  | { readonly instance: string; readonly from: string; readonly set: Partial<Shape> }
  /** The instance's file gets a name under which nothing is read. */
  | { readonly instance: string; readonly name: string }
  | { readonly path: string; readonly spoil: Spoil }
  /** A link takes the place of a folder and of everything below it. */
  | { readonly folder: string }
  | { readonly path: string; readonly value: string }
  | { readonly path: string; readonly is: 'corrected' | 'removed' };

/**
 * What a controller loses with its end. `store`: its whole directory; `rows`: the store alone, beside which other files show that
 * there was one; `since backup`: the last backup is restored.
 */
export type Loses = 'nothing' | 'copy' | 'store' | 'rows' | 'since backup';

/** What the settings say otherwise when the next controller starts. */
export interface Changes {
  readonly place?: Partial<FollowedPlace>;
  /** The entry of the site has another kind of provider. */
  readonly kind?: { readonly site: string; readonly ends: Provider['lostActionEnds'] };
}

export type Deed =
  | { readonly kind: 'commit'; readonly edits: readonly Edit[]; readonly approves?: number }
  | { readonly kind: 'side'; readonly side: string; readonly edits: readonly Edit[] }
  /** One that is pulled merges the branch into the side, and the side becomes the branch. */
  | { readonly kind: 'merge'; readonly side: string; readonly edits: readonly Edit[]; readonly isPulled?: boolean }
  | { readonly kind: 'rewrite'; readonly back: number; readonly edits: readonly Edit[] }
  | { readonly kind: 'revert' }
  | { readonly kind: 'poll' }
  | { readonly kind: 'start' }
  | { readonly kind: 'accept history' }
  | { readonly kind: 'approve all' }
  | { readonly kind: 'stop'; readonly loses: Loses; readonly downMs: number; readonly changes?: Changes }
  /** The store is backed up. */
  | { readonly kind: 'back up' }
  /** A commit moves the layout into another directory of the repository. */
  | { readonly kind: 'move'; readonly directory: string }
  | { readonly kind: 'approve'; readonly pick: number }
  | { readonly kind: 'suspend'; readonly instance: string | null; readonly forMs: number | null }
  | { readonly kind: 'resume'; readonly instance: string | null }
  | { readonly kind: 'retry'; readonly instance: string | null }
  | { readonly kind: 'adopt'; readonly instance: string | null }
  /** Requests for one server, and a check of an instance's. */
  | { readonly kind: 'retain'; readonly name: string }
  | { readonly kind: 'replace'; readonly name: string }
  | { readonly kind: 'check'; readonly instance: string }
  | { readonly kind: 'put'; readonly instance: string; readonly set: Partial<Shape> }
  | { readonly kind: 'delete'; readonly instance: string }
  | { readonly kind: 'stranger'; readonly name: string; readonly site: string }
  | { readonly kind: 'vanish'; readonly name: string; readonly site: string }
  /** A server has another address from now on, which is reported with the next answer about it. */
  | { readonly kind: 'lease'; readonly name: string; readonly site: string; readonly address: string }
  /** A stranger changes a property of a server, without the controller. */
  | { readonly kind: 'tamper'; readonly name: string; readonly site: string; readonly size: string }
  /** The agent of a proxy dies, or its line is cut, for so long. */
  | { readonly kind: 'proxy'; readonly proxy: string; readonly does: 'stop' | 'cut'; readonly ms: number }
  | { readonly kind: 'site'; readonly site: string; readonly mood: SiteMood }
  | { readonly kind: 'remote'; readonly mood: RemoteMood }
  | { readonly kind: 'disk'; readonly isFull: boolean }
  /** For so long every write takes up to a second. */
  | { readonly kind: 'slow disk'; readonly ms: number }
  | { readonly kind: 'clock'; readonly ms: number };

export type Action = Deed & {
  /** Milliseconds since the action before. */
  readonly after: number;
};
