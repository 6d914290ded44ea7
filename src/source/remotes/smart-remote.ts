// Fetches from a remote by Git's smart HTTP protocol. For pushing see smart-pusher.ts.
import { initRepository } from '../../git/bare-repository.ts';
import { IncompleteError, indexPack, type PackLimits } from '../../git/index-pack.ts';
import { SourceError } from '../source.ts';
import { type Advertisement, askForBranches, shallowRefused } from './advertisement.ts';
import type { BranchRequest, Remote, Transport } from './remote.ts';
import { fetchRequest, packIn } from './upload-pack.ts';

const SERVICE = 'git-upload-pack';

/** Returns the remote behind a transport. */
export function createSmartRemote(transport: Transport, limits: PackLimits): Remote {
  const { name, url, secrets } = transport;
  /** As advertised last; asked for again after a fetch that failed. */
  let known: Omit<Advertisement, 'heads'> | undefined;

  async function advertised({ branch, signal }: BranchRequest): Promise<Advertisement> {
    const head = known === undefined ? undefined : await transport.readHead?.(branch);
    if (known !== undefined && head !== undefined) return { ...known, heads: new Map([[branch, head]]) };
    return await askForBranches(transport, { forPush: false, signal });
  }

  return {
    name,
    secrets,
    async branches(asked) {
      const { heads, ...abilities } = await advertised(asked);
      known = abilities;
      return {
        heads,
        async fetchInto(order) {
          const head = heads.get(order.branch);
          if (head === undefined) throw new SourceError(`"${name}" named no commit`);
          known = undefined;
          await initRepository(order.quarantine, order.lender);
          const body = fetchRequest({ name, head, have: order.lender?.oid ?? null }, abilities.capabilities);
          const headers = {
            'content-type': `application/x-${SERVICE}-request`,
            accept: `application/x-${SERVICE}-result`,
          };
          const { signal, givesWay, quarantine: gitDirectory } = order;
          const request = { url: `${url}/${SERVICE}`, method: 'POST', headers, body, signal };
          await transport
            .stream(request, (answer) =>
              indexPack(packIn(name, answer), { ...limits, gitDirectory, name, signal, givesWay }),
            )
            .catch((error: unknown) => {
              throw abilities.isShallow && error instanceof IncompleteError ? shallowRefused(name, error) : error;
            });
          known = abilities;
          return head;
        },
      };
    },
  };
}
