// Watches what the interface answers of servers: it agrees with the rows, and no record loses what cannot be read.
import type { ShownStore, WiredCore } from '../../src/compose/core.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { type Unit, unitAddress } from '../../src/desired/unit.ts';
import { instanceAddress } from '../../src/model/address.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { Reader } from '../../src/service/read/reader.ts';
import { isWhole } from './edit-files.ts';
import type { Facts } from './facts.ts';
import { GLOBAL, LAB, SMALL } from './stacks.ts';

/** The key that each layer's object brings, and the property of a record that says that the layer is selected. */
const LAYERS = [
  [GLOBAL, 'from_common', undefined],
  [LAB, 'from_environment', 'lab'],
  [SMALL, 'from_shape', 'small'],
] as const;

/** The answers about instances in one step. */
type Answers = Map<string, ReturnType<Reader['statusFull']>>;

export class AnswerWatch {
  readonly #facts: Facts;
  /** Layers whose file was gone, for certain, at some commit, or not readable at the first: their keys may be missing. */
  readonly goneLayers = new Set<string>();
  /** What the answers about each server were made of when they were compared last. */
  readonly #compared = new Map<string, Sources>();
  /** Instances of which a version was known, after a restart or to another leader, from its rows alone. */
  readonly #ofRows = new Set<string>();
  /** The commit of the version of each instance in the desired state that was in force last. */
  readonly #versions = new Map<string, string>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** Compares what the interface answers of these servers. */
  compare(names: Iterable<string>): void {
    const { core } = this.#facts;
    const answers: Answers = new Map();
    if (core !== undefined) for (const name of names) this.#compare(core, name, answers);
  }

  /**
   * Notes the versions of another desired state. Only rows told of those before whose commit the copy lacks, and may tell of those of a
   * directory that was followed formerly.
   */
  noteVersions({ ledger }: ShownStore, desired: DesiredState): void {
    const { git } = this.#facts;
    if (this.#versions.size === 0 || this.#hasLostCommit()) this.#noteFirst(desired.commit);
    for (const [instance, commit] of this.#versions) if (!this.#facts.isHere(commit)) this.#ofRows.add(instance);
    this.#versions.clear();
    for (const unit of desired.units.values()) {
      if (unit.type !== 'stack-instance') continue;
      this.#versions.set(unit.name, ledger.read('pinned', unitAddress(unit))?.commit ?? desired.commit);
      const isOfFormerDirectory = git.at(unit.commit).directory !== git.at(desired.commit).directory;
      if (isOfFormerDirectory && isOfRows(unit)) this.#ofRows.add(unit.name);
    }
  }

  /** Nobody knows what a layer was that the first followed commit has a link, a submodule or a folder in place of. */
  #noteFirst(commit: string): void {
    const { files } = this.#facts.git.at(commit);
    for (const [path] of LAYERS) if (!isWhole(files, path)) this.goneLayers.add(path);
  }

  /** The store is lost: no row tells of a version. */
  forget(): void {
    this.#versions.clear();
  }

  #compare(core: WiredCore, name: string, answers: Answers): void {
    const row = core.ledger.server(name);
    if (row === undefined) return;
    const before = this.#compared.get(name);
    const now = sourcesOf(core, name, row);
    this.#compared.set(name, now);
    const promise = 'what REST answers agrees with the rows';
    try {
      if (!hasSameState(now, before)) {
        const states = answers.get(row.instance) ?? core.reader.statusFull(row.instance);
        answers.set(row.instance, states);
        const shown = states[row.key]?.[name]?.state;
        if (shown !== row.state) this.#facts.fail(promise, `${name} is ${row.state}, and ${String(shown)} for REST`);
      }
      if (!hasSameRecord(now, before) && !this.#isRecordLost(row)) this.#watchRecord(name, core.reader.record(name));
    } catch (error) {
      this.#facts.fail(promise, `${name} of ${row.instance}, which is ${row.state}: ${String(error)}`);
    }
  }

  /** Of a version that is known from the rows alone, nobody knows the records, nor those of the servers that it loses. */
  #isRecordLost({ instance, wanted, lastRecord }: ServerRow): boolean {
    if (!this.#ofRows.has(instance) && !this.#hasLostCommit()) return false;
    const unit = this.#facts.core?.current.get()?.units.get(instanceAddress(instance));
    return wanted === null ? lastRecord === null : unit !== undefined && isOfRows(unit);
  }

  /** Who followed it may have ended before it was seen to be in force. */
  #hasLostCommit(): boolean {
    const { git } = this.#facts;
    return [...git.commits].some(({ oid }) => !this.#facts.isHere(oid) && !git.isAncestor(oid, git.head));
  }

  #watchRecord(name: string, record: Readonly<Record<string, unknown>>): void {
    for (const [path, key, selected] of LAYERS) {
      const isSelected = selected === undefined || record.environment === selected || record.shape === selected;
      if (isSelected && record[key] === undefined && !this.goneLayers.has(path)) {
        this.#facts.fail(
          'no record loses what cannot be read',
          `${name} has no ${key}, though ${path} was never removed`,
        );
      }
    }
  }
}

function isOfRows({ servers, nodes }: Unit): boolean {
  return servers.size > 0 && nodes.size === 0;
}

/** What the interface answers about a server from: its row, the version of the row's instance, and that of its owner. */
interface Sources {
  readonly row: ServerRow;
  readonly unit: Unit | undefined;
  readonly owner: Unit | undefined;
}

function sourcesOf({ current }: WiredCore, name: string, row: ServerRow): Sources {
  const desired = current.get();
  const owner = desired?.owners.get(name);
  const unit = desired?.units.get(`stack-instance/${row.instance}`);
  return { row, unit, owner: owner === undefined ? undefined : desired?.units.get(owner) };
}

/** Whether the answer about the state of a server is made of the same. */
function hasSameState({ row, unit }: Sources, other: Sources | undefined): boolean {
  if (other === undefined || other.unit !== unit) return false;
  return other.row.state === row.state && other.row.instance === row.instance && other.row.key === row.key;
}

/** Whether the record of a server is made of the same. */
function hasSameRecord({ row, unit, owner }: Sources, other: Sources | undefined): boolean {
  if (other === undefined || other.unit !== unit || other.owner !== owner) return false;
  if (other.row.outputs !== row.outputs || other.row.updated !== row.updated) return false;
  return other.row.lastRecord === row.lastRecord && other.row.wanted === row.wanted;
}
