import { type CandidacyEvent, createManager, loadKubeConfig } from 'tenure'
import { LEASE } from '../lease.ts'
import { EndedTerms } from './ended-terms.ts'
import { takeHoldings } from './holdings.ts'
import type { ReplicaCommand } from './messages.ts'
import { ObservedJanitor } from './observed-janitor.ts'
import { report } from './report.ts'

/*
 * One replica of the demo: the program of the quickstart, which reports what happens and takes commands over the IPC channel.
 */

const HOLDINGS_EVERY_MS = 200
const SWEEP_EVERY_MS = 250

process.once('message', (command: ReplicaCommand) => {
  if (command.kind === 'stand') void stand(command.kubeConfigPath, command.namespace)
  else process.disconnect()
})
// Without the demo a replica has nobody to obey.
process.once('disconnect', () => process.exit(1))
report({ kind: 'state', state: 'idle' })

async function stand(kubeConfigPath: string, namespace: string): Promise<void> {
  const kubeConfig = loadKubeConfig({ kubeConfigPath })
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
  process.removeAllListeners('disconnect')
  process.disconnect()
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
  if (event.kind === 'request-failed') report({ kind: 'problem', text: `${event.purpose}: ${event.error.message}` })
  if (event.kind === 'controller-failed') {
    report({ kind: 'problem', text: `${event.controller} failed: ${String(event.error)}` })
  }
}
