/** A replica that adds to a counter while it leads, and obeys the driver. `FAULTS_REPLICA` has its settings. */
import { openSync, writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import {
  CoreV1Api,
  KubeConfig,
  Observable,
  PatchStrategy,
  setHeaderOptions,
  type ObservableMiddleware,
} from '@kubernetes/client-node'
import { Manager, type CandidacyEvent, type Term } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import { gated, LeaseLock } from '@tenure/kubernetes'
import { traceExtension } from '../../packages/tenure/src/trace-extension.ts'
import { RatedClock } from './rated-clock.ts'
import { SETUP_VARIABLE, type ReplicaCommand, type ReplicaReport, type ReplicaSetup } from './replica-setup.ts'

const setup: ReplicaSetup = JSON.parse(process.env[SETUP_VARIABLE] ?? '{}')
const { identity, namespace, leaseName, timing, fences } = setup
const kubeConfig = new KubeConfig()
kubeConfig.loadFromString(setup.kubeConfig)
const target = { name: 'counter', namespace }

/** The minimum delay after a failed addition, so that an immediate refusal does not keep a processor busy. */
const REFUSED_REST_MS = 20

/** The time before the end of a term during which a blocked replica keeps a processor busy. */
const BUSY_MS = 50

const clock = new RatedClock()
let present: Term | undefined
let adds = 0
let isDeaf = false
let hasLeaked = false
let slowMs = 0
let leak = async (): Promise<void> => {}

const manager = new Manager({
  identity,
  clock,
  lease: { name: leaseName, namespace, ...timing },
  createLock: () => new LeaseLock({ kubeConfig, name: leaseName, namespace }),
  watchdog: fences.watchdog,
  onWedged: setup.onWedged,
  terminate: () => process.exit(11),
})
if (setup.traceFile !== undefined) manager.use(traceExtension(setup.traceFile, silentLogger))
manager.register(() => ({ name: 'adder', run: addUp }))
if (setup.servesMetrics) {
  // The other experiments start hundreds of replicas, and need no server in them.
  const { createOps } = await import('@tenure/ops')
  const ops = createOps({ port: 0, host: '127.0.0.1', clock, processMetrics: false })
  manager.use(ops)
  const tellPort = () => tell({ kind: 'metrics', port: ops.address?.port ?? 0 })
  manager.use({ name: 'port', start: tellPort })
}
manager.on((event) => {
  if (event.kind === 'leader-observed' || event.kind === 'term-began') tell({ kind: 'standing' })
  tell({ kind: 'event', at: Date.now(), text: describe(event) })
})
process.on('message', (command) => void obey(command as ReplicaCommand))
process.once('disconnect', () => process.exit(1))
process.channel?.unref()
process.once('SIGTERM', () => void manager.stop())
flushCompileCache()
await manager.start()
process.exit(0)

/**
 * Adds one repeatedly: reads the counter, works for a moment, then writes the value plus one. Claims the counter for this term before the
 * first read, so that the read contains every earlier write of an older term.
 */
async function addUp(term: Term): Promise<void> {
  present = term
  const api = clientOf(term).makeApiClient(CoreV1Api)
  const asMergePatch = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)
  const ending = [endingWith(term.hardSignal)]
  const reading = { middleware: ending, middlewareMergeStrategy: 'append' } as const
  const writing = { ...asMergePatch, middleware: [...(asMergePatch.middleware ?? []), ...ending] }
  const patch = (data: Readonly<Record<string, string>>) =>
    api.patchNamespacedConfigMap({ ...target, body: { data } }, writing)
  const epoch = String(term.epoch)
  let isClaimed = false
  const add = async (): Promise<void> => {
    try {
      if (!isClaimed) await patch({ claimed: epoch })
      isClaimed = true
      const { data = {} } = await api.readNamespacedConfigMap(target, reading)
      await sleep(setup.workMs)
      adds += 1
      await patch({ count: String(Number(data['count'] ?? 0) + 1), id: `${identity}/${adds}`, epoch })
    } catch {
      // Refused, or the server is down. Tries again while the term lasts.
      await sleep(REFUSED_REST_MS)
    }
  }
  leak = async () => {
    for (;;) await sleep(setup.restMs).then(add)
  }
  await term.every(setup.restMs, add)
  // The term ends, also in a rest.
  await sleep(slowMs)
  if (isDeaf) for (;;) await sleep(setup.restMs).then(add)
}

/** Without the gate, the client sends every write. */
function clientOf(term: Term): KubeConfig {
  if (!fences.gate && !fences.stamp) return kubeConfig
  if (fences.gate) return gated(term, kubeConfig, { stamp: fences.stamp })
  const { epoch, lease } = term
  return gated({ epoch, lease, isHeld: () => true, gateSignal: new AbortController().signal }, kubeConfig)
}

/** Aborts requests with the signal, unless the replica has no write gate, or its code ignores signals. */
function endingWith(signal: AbortSignal): ObservableMiddleware {
  return {
    pre: (request) => {
      if (fences.gate && !isDeaf && !hasLeaked) request.setSignal(signal)
      return new Observable(Promise.resolve(request))
    },
    post: (response) => new Observable(Promise.resolve(response)),
  }
}

async function obey(command: ReplicaCommand): Promise<void> {
  switch (command.kind) {
    case 'block':
      return block(command.ms)
    case 'step-wall-clock':
      return clock.stepWallClock(command.byMs)
    case 'rate-clock':
      clock.rate = command.rate
      return
    case 'turn-deaf':
      isDeaf = true
      return
    case 'turn-slow':
      slowMs = command.ms
      return
    case 'leak':
      hasLeaked = true
      return leak()
    case 'exhaust-memory':
      return exhaustMemory()
    default:
      command satisfies never
  }
}

/**
 * Reports by when this process must be gone, then blocks the event loop. Does nothing after the end of its term. Around the deadline it
 * spins, because a waiting thread would leave the processor to the watchdog, and records when it last ran.
 */
function block(ms: number): void {
  const now = process.hrtime.bigint()
  const remainingMs = present?.remainingMs() ?? 0
  if (remainingMs === 0) return tell({ kind: 'blocking', deadline: '0' })
  const deadline = now + BigInt(Math.floor(remainingMs * 1e6))
  // Written synchronously, because a queued message would not be sent.
  writeSync(1, `${JSON.stringify({ kind: 'blocking', deadline: String(deadline) } satisfies ReplicaReport)}\n`)
  const until = performance.now() + ms
  const sign = new BigInt64Array(1)
  const file = openSync(setup.lifeFile, 'w')
  if (remainingMs > BUSY_MS) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.min(remainingMs, ms) - BUSY_MS)
  }
  while (performance.now() < until) {
    sign[0] = process.hrtime.bigint()
    writeSync(file, sign, 0, sign.byteLength, 0)
  }
}

/** Allocates memory until the process dies. */
async function exhaustMemory(): Promise<void> {
  for (const kept: number[][] = []; ; await turn())
    kept.push(Array.from({ length: 1_000_000 }, (_, index) => index + 0.5))
}

function describe(event: CandidacyEvent): string {
  switch (event.kind) {
    case 'state':
      return `${event.from.kind} → ${event.to.kind}`
    case 'leader-observed':
      return `sees ${event.identity === '' ? 'nobody' : event.identity} lead`
    case 'term-ending':
      return `term ending: ${event.reason}`
    case 'term-over':
      return `term over: ${event.reason}, ${event.outcome}`
    case 'request-failed':
      return `${event.purpose} failed: ${event.error.message}`
    default:
      return event.kind
  }
}

function tell(report: ReplicaReport): void {
  process.send?.(report)
}
