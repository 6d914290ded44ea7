// Finds the administrators that stay registered although the files of a commit do not have them: no commit removes the
// last ones. See desired/active-clients.ts.
import {
  type ActiveVersion,
  type ActiveVersions,
  type DesiredState,
  EMPTY_BASELINE,
} from '../../desired/desired-state.ts';
import { COMMITS_MAX, firstParents } from '../../follow/first-parents.ts';
import { deriveAt } from '../../follow/restore.ts';
import type { Client } from '../../model/objects.ts';
import { orContentError } from '../../model/snapshot.ts';
import type { LocalRepository } from '../../source/local-repository.ts';

type History = Pick<LocalRepository, 'has' | 'describe' | 'snapshot'>;

/** Returns the same desired state where it has an administrator, else with those of the newest commit before it that has some. */
export async function withLastAdministrators(repository: History, desired: DesiredState): Promise<DesiredState> {
  if (administratorsIn(desired.clients).length > 0) return desired;
  let registry = await registryAt(repository, desired.commit);
  for await (const commit of firstParents(repository, desired.commit, COMMITS_MAX + 1)) {
    if (commit === desired.commit) continue;
    if (!(await repository.has(commit))) return desired;
    const earlier = await registryAt(repository, commit);
    if (earlier === undefined || earlier === registry) continue;
    registry = earlier;
    const found = await deriveAt(repository, commit, { baseline: EMPTY_BASELINE, earlier: desired });
    const last = found.isFollowed ? administratorsIn(found.desired.clients) : [];
    if (last.length > 0) return { ...desired, clients: new Map([...desired.clients, ...last]) };
  }
  return desired;
}

function administratorsIn(clients: ActiveVersions<Client>): readonly [string, ActiveVersion<Client>][] {
  return [...clients].filter(([, { entry }]) => entry.object?.role === 'administrator');
}

/** Returns the versions of the files of clients, as a text; undefined for a commit that can never be read. */
async function registryAt(repository: History, commit: string): Promise<string | undefined> {
  const snapshot = await orContentError(repository.snapshot(commit, () => false));
  if (snapshot instanceof Error) return undefined;
  return [...snapshot.files]
    .flatMap(([path, { oid }]) => (path.startsWith('clients/') ? [`${path} ${oid}`] : []))
    .join('\n');
}
