// Has git started by a small process: Node copies the page tables of the whole process to start a program, and its event loop
// stands still meanwhile. docs/decisions/0069.
import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { holdLoop, startHelper } from '../helper-process.ts';
import type { GitStart, RunningGit } from './spawn-git.ts';
import type { GitOutput, StarterOrder, StarterReport } from './starter-messages.ts';

const PROGRAM = new URL('./git-starter-process', import.meta.url);

/** A process that starts git, and the runs of git that it attends. */
export class GitStarter {
  readonly #child: ChildProcess;
  readonly #runs = new Map<number, RelayedGit>();
  #count = 0;
  #isLost = false;

  /** Starts the process. Where that fails, every run fails. */
  constructor() {
    this.#child = startHelper(PROGRAM, 'advanced');
    this.#child.on('message', (report: StarterReport) => this.#take(report));
    this.#child.on('disconnect', () => this.#lose());
    this.#child.on('error', () => this.#lose());
    this.#holdLoop();
  }

  /** False once it cannot be talked to, also where its end is known before that of its channel. */
  get isConnected(): boolean {
    return !this.#isLost && this.#child.connected;
  }

  /** Id of the process. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Starts git. */
  start(what: GitStart): RunningGit {
    const run = ++this.#count;
    const git = new RelayedGit(run, (order) => this.#send(order));
    this.#runs.set(run, git);
    this.#holdLoop();
    this.#send({ kind: 'start', run, ...what });
    return git;
  }

  #take(report: StarterReport): void {
    const git = this.#runs.get(report.run);
    if (report.kind === 'closed' || report.kind === 'failed') this.#runs.delete(report.run);
    this.#holdLoop();
    git?.take(report);
  }

  /** It cannot be talked to any more: git that it has started loses its streams, and ends. */
  #lose(): void {
    this.#isLost = true;
    this.#child.kill('SIGKILL');
    const lost = [...this.#runs];
    this.#runs.clear();
    this.#holdLoop();
    for (const [run, git] of lost) git.take({ kind: 'closed', run, code: null, signal: 'SIGKILL' });
  }

  #send(order: StarterOrder): void {
    if (this.isConnected) this.#child.send(order);
    else process.nextTick(() => this.#lose());
  }

  /** Only a busy starter keeps this process from ending. */
  #holdLoop(): void {
    holdLoop(this.#child, this.#runs.size > 0);
  }
}

/** A run of git in the starter. Its streams ask for the next piece when their reader does. */
class RelayedGit extends EventEmitter implements RunningGit {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly #run: number;
  readonly #send: (order: StarterOrder) => void;
  #confirm: (() => void) | undefined;

  constructor(run: number, send: (order: StarterOrder) => void) {
    super();
    this.#run = run;
    this.#send = send;
    const pass = (piece: Buffer, done: () => void): void => {
      this.#confirm = done;
      send({ kind: 'input', run, piece });
    };
    this.stdin = new Writable({
      write: (piece: Buffer, _encoding, done) => pass(piece, done),
      // What came while the piece before was on its way: as one message, since each waits for an answer.
      writev: (pieces, done) => pass(Buffer.concat(pieces.map(({ chunk }) => chunk)), done),
      final: (done) => {
        send({ kind: 'input ends', run });
        done();
      },
    });
    this.stdout = this.#outputOf('stdout');
    this.stderr = this.#outputOf('stderr');
  }

  end(ending: NodeJS.Signals): void {
    this.#send({ kind: 'end', run: this.#run, ending });
  }

  take(report: StarterReport): void {
    if (report.kind === 'taken') this.#confirmInput();
    else if (report.kind === 'input closed') this.#closeInput();
    else if (report.kind === 'output') this[report.output].push(report.piece);
    else if (report.kind === 'failed') this.#fail(report);
    else this.#close(report);
  }

  #outputOf(output: GitOutput): Readable {
    return new Readable({ read: () => this.#send({ kind: 'more', run: this.#run, output }) });
  }

  #confirmInput(): void {
    const confirm = this.#confirm;
    this.#confirm = undefined;
    confirm?.();
  }

  #closeInput(): void {
    this.#confirmInput();
    this.stdin.destroy();
  }

  #fail({ message, code }: Extract<StarterReport, { kind: 'failed' }>): void {
    this.#closeInput();
    for (const output of [this.stdout, this.stderr]) output.push(null);
    this.emit('error', Object.assign(new Error(message), { code }));
  }

  /** Like that of a child process, the event comes once both outputs are read or destroyed. */
  #close({ code, signal }: Extract<StarterReport, { kind: 'closed' }>): void {
    this.#closeInput();
    let open = 0;
    const closed = (): void => {
      open -= 1;
      if (open === 0) this.emit('close', code, signal);
    };
    for (const output of [this.stdout, this.stderr]) {
      open += 1;
      if (!output.readableEnded && !output.destroyed) output.push(null);
      if (output.closed) process.nextTick(closed);
      else output.once('close', closed);
    }
  }
}
