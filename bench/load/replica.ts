/** A process with many candidacies, as a user would write it, plus reports to the bench. */
import { type Manager } from '@tenure/core'
import { Controller, createManager, type Term } from 'tenure'
import type { Command, ReplicaSetup, Report } from './messages.ts'

const setup = JSON.parse(process.argv[2] ?? '{}') as ReplicaSetup
const [first = '', ...others] = setup.leases
let renewals = 0

class Probe extends Controller {
  override readonly name = 'probe'
  readonly #lease: string

  constructor(lease: string) {
    super()
    this.#lease = lease
  }

  override async run(term: Term): Promise<void> {
    tell({ kind: 'running', lease: this.#lease, at: now() })
    await term.sleep(86_400_000)
  }
}

const { identity, namespace, kubeConfigPath } = setup
const manager = createManager({
  identity,
  lease: { name: first, namespace },
  ops: false,
  logLevel: 'error',
  argv: [`--kubeconfig=${kubeConfigPath}`],
})
manager.register(() => new Probe(first))
for (const name of others) manager.candidacy({ name, namespace }).register(() => new Probe(name))
manager.on((event) => {
  if (event.kind === 'renewed') renewals++
})
process.on('message', (command: Command) => obey(manager, command))
process.once('disconnect', () => process.exit(1))
await manager.start()
process.disconnect()

function obey({ candidacies }: Manager, command: Command): void {
  if (command.kind === 'stop') return void manager.stop()
  if (command.kind === 'usage') {
    const { user, system } = process.cpuUsage()
    const leading = candidacies.filter(({ state }) => state.kind === 'leading').length
    return tell({ kind: 'usage', cpuMicros: user + system, at: now(), leading, renewals })
  }
  const candidacy = candidacies.find(({ lease }) => lease === command.lease)
  tell({ kind: 'stepping-down', lease: command.lease, at: now() })
  void candidacy?.stepDown().then((result) => {
    if (result.kind === 'not-leading') tell({ kind: 'not-leading', lease: command.lease })
  })
}

function tell(report: Report): void {
  process.send?.(report)
}

function now(): string {
  return process.hrtime.bigint().toString()
}
