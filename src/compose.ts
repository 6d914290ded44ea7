// Builds and connects all parts, with compose/: only these files know all implementations. This file starts the
// listeners.

import { createDashboard } from './api/dashboard.ts';
import type { EventStreams } from './api/event-streams.ts';
import { type Listener, startListener } from './api/listener.ts';
import { createManagement } from './api/management.ts';
import { openTlsFiles, type TlsFiles } from './api/tls/tls-files.ts';
import { findAmbiguity } from './api/tls/tls-material.ts';
import { createWebhook } from './api/webhook/webhook.ts';
import { AuditLog } from './base/audit-log.ts';
import { type Clock, systemClock } from './base/clock.ts';
import type { ListenAddress, Listening } from './base/listen.ts';
import type { Logger } from './base/log.ts';
import type { Metrics } from './base/metrics.ts';
import { composeLeader } from './compose/leader.ts';
import { measureReplica, openMetrics } from './compose/open-metrics.ts';
import type { SharedParts } from './compose/open-parts.ts';
import type { SharedDatabase } from './compose/open-store.ts';
import { PresentRole } from './compose/present-role.ts';
import { openReplica } from './compose/replica.ts';
import { createStandby } from './compose/standby.ts';
import type { Settings } from './model/settings.ts';
import { ClientsSeen } from './service/progress/clients-seen.ts';
import type { Reader } from './service/read/reader.ts';
import { warnOfOpenFiles } from './settings/secret-files.ts';

/** A running controller. */
export interface Controller {
  readonly api: ListenAddress;
  readonly management: ListenAddress;
  /** Null if not configured. */
  readonly webhook: ListenAddress | null;
  /** The read service behind the REST interface. */
  reader(): Reader;
  /** Returns true when reads are served from a valid commit, else the reason why not. */
  ready(): true | string;
  /**
   * Resolves when this process has lost the lease and another one may lead. Then the process has to end and be
   * restarted.
   */
  readonly over: Promise<void>;
  /** Reopens the audit log after its file was renamed. */
  reopenAudit(): void;
  /** Stops all parts in order: requests, running actions, the store. */
  stop(): Promise<void>;
}

interface Platform {
  readonly log: Logger;
  readonly clock?: Clock;
}

/** Starts a controller. Throws if a part cannot start, after stopping the parts that were started before it. */
export async function startController(settings: Settings, { log, clock = systemClock }: Platform): Promise<Controller> {
  await using opened = new AsyncDisposableStack();
  const controller = await compose(settings, { log, clock, opened });
  const running = opened.move();
  let stopped: Promise<void> | undefined;
  return {
    ...controller,
    stop() {
      stopped ??= running.disposeAsync();
      return stopped;
    },
  };
}

async function compose(settings: Settings, { log, clock, opened }: SharedParts): Promise<Omit<Controller, 'stop'>> {
  await warnOfOpenFiles(log, settings.files);
  const audit = openAudit(settings, { log, clock, opened });
  const present = new PresentRole();
  const over = Promise.withResolvers<void>();
  const metrics = openMetrics(settings, { present, opened });
  const management = await openManagement(settings, { present, metrics, clock, opened });
  const replica = await openReplica(settings, {
    log,
    clock,
    onSaved: (ms) => metrics.observe('treeline_store_commit_duration_seconds', {}, ms / 1000),
    opened,
    present,
    // Until it has settled, it answers reads.
    onOver: () => over.resolve(present.settled()),
  });
  const tls = opened.adopt(await openTlsFiles({ paths: settings.api.tls, clock, log }), (it) => it.close());
  const ofClients = { ambiguityOf: findAmbiguity(() => tls.material), seen: new ClientsSeen(clock) };
  const known = { ...ofClients, tls };
  const parts = { settings, replica, audit, ...known, clock, log, metrics };
  measureReplica(parts);
  const { database } = replica;
  const lead = () => composeLeader(parts);
  if (database === undefined) present.show(await lead());
  else present.standBy({ standby: createStandby(parts, database, opened), lead, lease: database.lease, log });
  opened.defer(() => present.stop());
  const served = { ...settings.api, tls: tls.material, audit, clock, log, metrics };
  const api = opened.adopt(await startListener({ ...served, handler: present.handler }), (it) => it.close());
  followTls(tls, api, replica.streams);
  // First, so that running writes and waiting reads are answered before the listeners close.
  opened.defer(async () => {
    database?.peers.refuse();
    await present.stopWaiting();
  });
  opened.defer(() => replica.streams.close());
  const webhook = await openWebhook(settings, { log, clock, opened, poll: () => present.poll() });
  const addresses = { api: addressOf(api), management: addressOf(management) };
  log.info({ ...addresses, ...(webhook === null ? {} : { webhook }) }, 'listening');
  beginServing(present, database, opened);
  return {
    ...addresses,
    webhook,
    ready: present.ready,
    reopenAudit: () => audit?.reopen(),
    over: over.promise,
    reader: () => present.reader,
  };
}

interface ManagementParts extends Pick<SharedParts, 'clock' | 'opened'> {
  readonly present: PresentRole;
  readonly metrics: Metrics;
}

/** Starts the management listener, first and until the end, so that it can report that a database is away. */
async function openManagement(
  { management }: Settings,
  { present, metrics, clock, opened }: ManagementParts,
): Promise<Listening> {
  const dashboard = management.dashboard ? createDashboard(present.handler) : undefined;
  const health = { ready: present.ready, leads: present.leads, metrics: () => metrics.text(), clock };
  return opened.adopt(await createManagement({ ...management, ...health, dashboard }), (it) => it.close());
}

/** Begins the role, which ends before the listeners do. */
function beginServing(present: PresentRole, database: SharedDatabase | undefined, opened: AsyncDisposableStack): void {
  present.begin();
  database?.lease.start();
  // Running calls may take long. Requests are answered until they have ended.
  opened.defer(() => present.drain());
  opened.defer(() => {
    present.waitsFor('it is stopping');
    // This process must not acquire the lease any more.
    database?.lease.retire();
  });
}

/** Ends event streams at a reload too, because their connections have no next answer. */
function followTls(tls: TlsFiles, api: Listener, streams: EventStreams): void {
  tls.follow((material) => {
    api.reload(material);
    streams.endAll();
  });
}

/** Opens the audit log. It is closed last, so that it records all answers. */
function openAudit({ audit, replica }: Settings, { log, clock, opened }: SharedParts): AuditLog | undefined {
  if (audit === null) return undefined;
  return opened.adopt(new AuditLog({ ...audit, replica: replica.name, clock, log }), (it) => it.close());
}

async function openWebhook(
  { webhook }: Settings,
  { log, clock, opened, poll }: SharedParts & { readonly poll: () => void },
): Promise<Controller['webhook']> {
  if (webhook === null) return null;
  const hooks = await createWebhook({ ...webhook, poll, clock, log });
  return addressOf(opened.adopt(hooks, (it: Listening) => it.close()));
}

function addressOf({ host, port }: ListenAddress) {
  return { host, port };
}
