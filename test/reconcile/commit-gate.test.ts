import { describe, expect, it } from 'vitest';
import { CommitGate } from '../../src/reconcile/commit-gate.ts';

/** Work that ends when the test says so, and notes when it began and ended. */
function openGate() {
  const gate = new CommitGate();
  const checked: string[] = [];
  const ends = new Map<string, () => void>();
  function work(name: string): () => Promise<string> {
    return async () => {
      checked.push(`${name} begins`);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      checked.push(`${name} ends`);
      return name;
    };
  }
  async function end(name: string): Promise<void> {
    ends.get(name)?.();
    await settle();
  }
  return { gate, checked, work, end };
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('shared work', () => {
  it('waits for an exclusive section that was requested before it', async () => {
    const { gate, checked, work, end } = openGate();
    const all = [gate.shared(work('a')), gate.exclusive(work('X')), gate.shared(work('b'))];
    await settle();
    expect(checked).toEqual(['a begins']);
    await end('a');
    expect(checked).toEqual(['a begins', 'a ends', 'X begins']);
    await end('X');
    expect(checked.slice(3)).toEqual(['X ends', 'b begins']);
    await end('b');
    expect(await Promise.all(all)).toEqual(['a', 'X', 'b']);
  });
});

describe('work that fails', () => {
  it('rejects for its caller, and does not block other work', async () => {
    const gate = new CommitGate();
    const fail = async (): Promise<never> => {
      throw new Error('disk full');
    };
    const shared = gate.shared(fail);
    const exclusive = gate.exclusive(fail);
    const after = [gate.shared(async () => 'a'), gate.exclusive(async () => 'X'), gate.shared(async () => 'b')];
    await expect(shared).rejects.toThrow('disk full');
    await expect(exclusive).rejects.toThrow('disk full');
    expect(await Promise.all(after)).toEqual(['a', 'X', 'b']);
  });
});
