import { describe, expect, it } from 'vitest';
import { readOptions } from './simulate-options.ts';

describe('the options of `npm run simulate`', () => {
  it('have defaults', () => {
    expect(readOptions([])).toMatchObject({ seeds: 2000, from: 1, seed: undefined, progress: undefined, all: false });
  });

  it('are read', () => {
    const args = ['--seeds', '5', '--from', '7', '--seed', '9', '--progress', '2', '--theme', 'everything', '--all'];
    expect(readOptions(args)).toMatchObject({
      seeds: 5,
      from: 7,
      seed: 9,
      progress: 2,
      theme: 'everything',
      all: true,
    });
  });

  it.each([
    { args: ['--seeds', '5-3'], said: '--seeds: "5-3" is no whole number from 1 on; --help lists the options' },
    { args: ['--seed', 'abc'], said: '--seed: "abc" is no whole number from 1 on' },
    { args: ['--from', '0'], said: '--from: "0" is no whole number from 1 on' },
    { args: ['--progress', '1.5'], said: '--progress: "1.5" is no whole number from 1 on' },
    { args: ['--theme', 'nothing'], said: /^--theme: there is no "nothing"; say one of: everything, / },
    { args: ['--frob'], said: /'--frob'.*; --help lists the options$/ },
    { args: ['nonsense'], said: /'nonsense'.*; --help lists the options$/ },
  ])('$args are refused', ({ args, said }) => {
    expect(() => readOptions(args)).toThrow(said);
  });
});
