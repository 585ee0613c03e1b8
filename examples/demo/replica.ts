import { KubeConfig } from '@kubernetes/client-node'
import { type CandidacyEvent, createManager, loadKubeConfig } from 'tenure'
import { LEASE } from './lease.ts'
import { EndedTerms } from './replica/ended-terms.ts'
import { takeHoldings } from './replica/holdings.ts'
import type { ReplicaCommand } from './replica/messages.ts'
import { ObservedJanitor } from './replica/observed-janitor.ts'
import { report } from './replica/report.ts'

/*
 * One replica of the demo: the program of the quickstart, which reports what happens and takes commands over the IPC channel.
 */

const HOLDINGS_EVERY_MS = 200
const SWEEP_EVERY_MS = 250

process.once('message', (command: ReplicaCommand) => {
  if (command.kind === 'stand') void stand(command)
  else leave()
})
// A replica whose demo is gone must not stay behind.
process.once('disconnect', onDemoGone)
report({ kind: 'state', state: 'idle' })

async function stand({ kubeConfig: source, namespace }: Extract<ReplicaCommand, { kind: 'stand' }>): Promise<void> {
  const kubeConfig = 'path' in source ? loadKubeConfig({ kubeConfigPath: source.path }) : parseKubeConfig(source.text)
  const endedTerms = new EndedTerms()
  const manager = createManager({ kubeConfig, lease: { ...LEASE, namespace }, ops: false })
  let janitor: ObservedJanitor | undefined
  manager.register(() => (janitor = new ObservedJanitor({ report, endedTerms }, kubeConfig, namespace, SWEEP_EVERY_MS)))
  manager.on(reportEvent)
  process.on('message', (command: ReplicaCommand) => {
    if (command.kind === 'step-down') void manager.stepDown()
    if (command.kind === 'get-stuck') janitor?.getStuck()
    if (command.kind === 'stop') void manager.stop()
  })
  // Its timer is not counted itself, because it keeps nothing alive.
  setInterval(() => {
    if (manager.state.kind === 'following' && manager.state.observedLeader) {
      report({ kind: 'holdings', holdings: takeHoldings(manager, endedTerms) })
    }
  }, HOLDINGS_EVERY_MS).unref()
  await manager.start()
  leave()
}

function parseKubeConfig(text: string): KubeConfig {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(text)
  return kubeConfig
}

function leave(): void {
  process.off('disconnect', onDemoGone)
  process.disconnect()
}

function onDemoGone(): void {
  process.exit(1)
}

function reportEvent(event: CandidacyEvent): void {
  if (event.kind === 'state') report({ kind: 'state', state: event.to.kind })
  if (event.kind === 'term-began') report({ kind: 'term-began', epoch: event.epoch })
  if (event.kind === 'term-ending') report({ kind: 'term-ending', epoch: event.epoch, reason: event.reason })
  if (event.kind === 'term-over') {
    const { epoch, reason, outcome, drain, drainMs } = event
    report({ kind: 'term-over', epoch, reason, outcome, drain, drainMs })
  }
  if (event.kind === 'wedged') report({ kind: 'wedged', epoch: event.epoch, tasks: event.tasks })
  if (event.kind === 'controller-failed') report({ kind: 'controller-failed', error: String(event.error) })
}
