// Watches what the interface answers of servers: it agrees with the rows, and no record loses what cannot be read.
import type { WiredCore } from '../../src/compose/core.ts';
import type { Unit } from '../../src/desired/unit.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { Reader } from '../../src/service/read/reader.ts';
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
  /** Layers whose file was gone, for certain, at some commit: their keys may be missing since. */
  readonly goneLayers = new Set<string>();
  /** What the answers about each server were made of when they were compared last. */
  readonly #compared = new Map<string, Sources>();
  /** Instances that stayed, over a restart, at a version of a directory that was followed before the layout was moved. */
  readonly #ofFormerDirectories = new Set<string>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** Compares what the interface answers of these servers. */
  compare(names: Iterable<string>): void {
    const { core } = this.#facts;
    const answers: Answers = new Map();
    if (core !== undefined) for (const name of names) this.#compare(core, name, answers);
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

  /**
   * Of a version that is known from the rows alone, nobody knows the records, nor those of the servers that it loses: one of
   * which the copy was lost, or of a directory that was followed formerly.
   */
  #isRecordLost({ instance, wanted, lastRecord }: ServerRow): boolean {
    const { core, git, hasLostCopy } = this.#facts;
    const desired = core?.current.get();
    const unit = desired?.units.get(`stack-instance/${instance}`);
    const isOfRows = unit !== undefined && unit.servers.size > 0 && unit.nodes.size === 0;
    if (isOfRows && git.at(unit.commit).directory !== git.at(desired?.commit ?? unit.commit).directory)
      this.#ofFormerDirectories.add(instance);
    const mayBeLost = hasLostCopy || this.#ofFormerDirectories.has(instance);
    return mayBeLost && (wanted === null ? lastRecord === null : isOfRows);
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
