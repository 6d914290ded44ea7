// The cases about calls that are ended before they answer, and about calls at the same time.
import { encodeCall } from '../../providers/call-json.ts';
import type { ConformanceCase } from './conformance-case.ts';
import { runLifeCycle } from './life-cycle.ts';
import { Deviation } from './trial.ts';

const PARALLEL = 4;
/** After this time a call is ended: most programs are at work by then. */
const SHORT_MS = 150;
/** More than the time between SIGTERM and SIGKILL. */
const ENDED_MS_MAX = 10_000;

/** The cases in their order. */
export const TIME_CASES: readonly ConformanceCase[] = [
  {
    title: 'a create that is ended in the middle is gone soon, and can be repeated',
    async run(trial) {
      const server = trial.nameOf('ended');
      trial.made.add(server);
      const begun = performance.now();
      const call = trial.callOf('create', server);
      await trial.options
        .send(encodeCall(call), AbortSignal.any([AbortSignal.timeout(SHORT_MS), trial.options.interrupted]))
        .catch(() => trial.options.interrupted.throwIfAborted());
      const ms = performance.now() - begun;
      if (ms > ENDED_MS_MAX) throw new Deviation(`it ran for ${Math.round(ms / 1000)} s after it was told to end`);
      await trial.expect(['done', 'absent'], 'check', server);
      await trial.expect(['done'], 'create', server, { action: call.action });
      await trial.expect(['done', 'absent'], 'delete', server);
      await trial.expect(['absent'], 'check', server);
    },
  },
  {
    title: `${PARALLEL} servers live and die at the same time`,
    async run(trial) {
      const servers = Array.from({ length: PARALLEL }, (_, index) => trial.nameOf(`p${index + 1}`));
      const ended = await Promise.allSettled(servers.map((server) => runLifeCycle(trial, server)));
      const failed = ended.find((each) => each.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    },
  },
];
