// Runs commands in this process against an interface of its own, as its administrator.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished } from 'vitest';
import type { KeyPair } from '../../src/base/development-pki.ts';
import { treeline } from '../support/command-here.ts';
import type { ProcessResult } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

/** How to connect; the administrator of the interface by default. */
export interface How {
  readonly server?: string;
  readonly identity?: KeyPair;
  readonly ca?: string;
}

export class CommandsHere {
  api!: TestApi;

  /** Starts the interface before the tests of a file. */
  constructor() {
    beforeAll(async () => {
      this.api = await startTestApi();
    });
    afterAll(() => this.api.api.close());
    beforeEach(() => {
      this.api.operator.asked.length = 0;
    });
  }

  options(how: How = {}): readonly string[] {
    const { server = `https://127.0.0.1:${this.api.server.port}`, identity, ca = this.api.server.ca } = how;
    const { key, cert } = identity ?? this.api.identities.administrator;
    const folder = temporaryDirectory();
    for (const [name, text] of Object.entries({ cert, key, ca })) writeFileSync(join(folder, name), text);
    return ['--server', server, ...['cert', 'key', 'ca'].flatMap((name) => [`--${name}`, join(folder, name)])];
  }

  run(...args: readonly string[]): Promise<ProcessResult> {
    return treeline([...args, ...this.options()]);
  }

  /** Returns the lines that a command prints, which ends with 0. */
  async lines(...args: readonly string[]): Promise<readonly string[]> {
    const { code, stdout, stderr } = await this.run(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout.trimEnd().split('\n');
  }

  async json(...args: readonly string[]): Promise<unknown> {
    return JSON.parse((await this.lines(...args, '--format', 'json')).join('\n'));
  }

  /** Returns why a command fails. */
  async failure(args: readonly string[], how: How = {}): Promise<string> {
    const { code, stdout, stderr } = await treeline([...args, ...this.options(how)]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    return stderr.trimEnd().replace(/^treeline: /, '');
  }

  /** Replaces parts of what answers until the running test ends. */
  answer<Part extends 'operator' | 'commits'>(part: Part, answers: Partial<TestApi[Part]>): void {
    const target = this.api[part];
    const before = { ...target };
    Object.assign(target, answers);
    onTestFinished(() => void Object.assign(target, before));
  }
}
