// Reads a repository by Git's smart protocol, over any transport. For pushing see smart-pusher.ts.
import { initRepository, type Lender } from '../git/bare-repository.ts';
import { IncompleteError, indexPack, type PackLimits } from '../git/index-pack.ts';
import { type Advertisement, askForBranches, shallowRefused } from './advertisement.ts';
import type { SentSecrets } from './sent-secrets.ts';
import type { Transport } from './transport.ts';
import { fetchRequest, packIn } from './upload-pack.ts';

/** A request for the branches of a remote. */
interface BranchRequest {
  /** The branch that is looked for. */
  readonly branch: string;
  /** Aborts the request, with its reason. */
  readonly signal: AbortSignal;
}

/** The commit to fetch, and the repository to fetch it into. */
interface FetchOrder {
  /** The path of the new repository. */
  readonly quarantine: string;
  /** A head that the remote has just named. */
  readonly head: string;
  /** Objects reachable from its commit may be omitted. */
  readonly lender: Lender | null;
  /** Verifies at a lower priority, since this process has other work meanwhile. */
  readonly givesWay: boolean;
  /** Aborts the fetch at once, with its reason: connections are closed, processes killed. */
  readonly signal: AbortSignal;
}

const SERVICE = 'git-upload-pack';

/** A repository that can be fetched from. */
export class SmartRemote {
  /** The name of the repository in messages. Holds no password. */
  readonly name: string;
  /** The credentials that were sent: messages that quote its answers have to strip them. */
  readonly secrets: SentSecrets;
  readonly #transport: Transport;
  readonly #limits: PackLimits;
  /** As advertised last; asked for again after a fetch that failed. */
  #known: Omit<Advertisement, 'heads'> | undefined;

  constructor(transport: Transport, limits: PackLimits) {
    this.name = transport.name;
    this.secrets = transport.secrets;
    this.#transport = transport;
    this.#limits = limits;
  }

  /**
   * Returns the branches as they are now by name, without `refs/heads/`, or only the one that is looked for, where it is there;
   * none of an empty repository. Throws SourceError if the remote fails.
   */
  async branches({ branch, signal }: BranchRequest): Promise<ReadonlyMap<string, string>> {
    const head = this.#known === undefined ? undefined : await this.#transport.readHead?.(branch);
    if (head !== undefined) return new Map([[branch, head]]);
    const { heads, ...abilities } = await this.#advertised(signal);
    this.#known = abilities;
    return heads;
  }

  /**
   * Fetches a head, and all objects reachable from it, into a new bare repository. Every received object is valid, and the
   * objects that it refers to are there or in the lender; the caller has to check that the head is among them. Throws
   * SourceError if the remote fails, or its answer is incomplete.
   */
  async fetchInto({ quarantine: gitDirectory, head, lender, givesWay, signal }: FetchOrder): Promise<void> {
    const { name } = this;
    const abilities = this.#known ?? (await this.#advertised(signal));
    this.#known = undefined;
    await initRepository(gitDirectory, lender);
    const body = fetchRequest({ name, head, have: lender?.oid ?? null }, abilities.capabilities);
    const headers = {
      'content-type': `application/x-${SERVICE}-request`,
      accept: `application/x-${SERVICE}-result`,
    };
    const request = { url: `${this.#transport.url}/${SERVICE}`, method: 'POST', headers, body, signal };
    const order = { ...this.#limits, gitDirectory, name, signal, givesWay };
    await this.#transport
      .stream(request, (answer) => indexPack(packIn(name, answer), order))
      .catch((error: unknown) => {
        throw abilities.isShallow && error instanceof IncompleteError ? shallowRefused(name, error) : error;
      });
    this.#known = abilities;
  }

  async #advertised(signal: AbortSignal): Promise<Advertisement> {
    try {
      return await askForBranches(this.#transport, { forPush: false, signal });
    } finally {
      await this.#transport.rest?.();
    }
  }
}
