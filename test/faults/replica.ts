/** A replica that adds to a counter for as long as it leads, and does as the driver says. Told what it is by `FAULTS_REPLICA`. */
import { openSync, writeSync } from 'node:fs'
import { CoreV1Api, KubeConfig, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node'
import { Manager, systemClock, type Clock, type Term } from '@tenure/core'
import { gated, LeaseLock } from '@tenure/kubernetes'
import { SETUP_VARIABLE, type ReplicaCommand, type ReplicaSetup } from './replica-setup.ts'

const setup: ReplicaSetup = JSON.parse(process.env[SETUP_VARIABLE] ?? '{}')
const { identity, namespace, leaseName, timing, fences } = setup
const kubeConfig = new KubeConfig()
kubeConfig.loadFromString(setup.kubeConfig)
const asMergePatch = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)
const target = { name: 'counter', namespace }

let wallOffsetMs = 0
const clock: Clock = { ...systemClock, wallTime: () => systemClock.wallTime() + wallOffsetMs }
let present: Term | undefined
let adds = 0

const manager = new Manager({
  identity,
  clock,
  lease: { name: leaseName, namespace, ...timing },
  createLock: () => new LeaseLock({ kubeConfig, name: leaseName, namespace }),
  watchdog: fences.watchdog,
  terminate: () => process.exit(11),
})
manager.register(() => ({ name: 'adder', run: addUp }))
manager.on((event) => {
  if (event.kind === 'term-over') process.send?.({ kind: 'term-over', reason: event.reason, outcome: event.outcome })
})
process.on('message', obey)
process.once('disconnect', () => process.exit(1))
process.channel?.unref()
process.once('SIGTERM', () => void manager.stop())
await manager.start()
process.exit(0)

/** Claims the counter for this term, and only then reads it: what an older term wrote before is in what is read. */
async function addUp(term: Term): Promise<void> {
  present = term
  const api = clientOf(term).makeApiClient(CoreV1Api)
  const patch = (data: Readonly<Record<string, string>>) =>
    api.patchNamespacedConfigMap({ ...target, body: { data } }, asMergePatch)
  const epoch = String(term.epoch)
  let isClaimed = false
  await term.every(setup.everyMs, async () => {
    try {
      if (!isClaimed) await patch({ claimed: epoch })
      isClaimed = true
      const { data = {} } = await api.readNamespacedConfigMap(target)
      adds += 1
      await patch({ count: String(Number(data['count'] ?? 0) + 1), id: `${identity}/${adds}`, epoch })
    } catch {
      // Refused, or the server is away: the next one tries again, for as long as the term lasts.
    }
  })
}

/** Without the gate, nothing in the client keeps a write from being sent. */
function clientOf(term: Term): KubeConfig {
  if (!fences.gate && !fences.stamp) return kubeConfig
  if (fences.gate) return gated(term, kubeConfig, { stamp: fences.stamp })
  const { epoch, lease } = term
  return gated({ epoch, lease, isHeld: () => true, gateSignal: new AbortController().signal }, kubeConfig)
}

function obey(command: ReplicaCommand): void {
  switch (command.kind) {
    case 'block':
      return block(command.ms)
    case 'step-wall-clock':
      wallOffsetMs += command.byMs
      return
    default:
      command satisfies never
  }
}

/**
 * Blocks the event loop, having told by when this process has to be gone. It spins: a thread that merely waits would leave the
 * processor to the watchdog. What it does meanwhile is to say when it last ran.
 */
function block(ms: number): void {
  const now = process.hrtime.bigint()
  const deadline = now + BigInt(Math.floor((present?.remainingMs() ?? 0) * 1e6))
  // Written at once: nothing that is queued would be sent any more.
  writeSync(1, `${JSON.stringify({ kind: 'blocking', deadline: String(deadline) })}\n`)
  const until = performance.now() + ms
  const sign = new BigInt64Array(1)
  const file = openSync(setup.lifeFile, 'w')
  while (performance.now() < until) {
    sign[0] = process.hrtime.bigint()
    writeSync(file, sign, 0, sign.byteLength, 0)
  }
}
