/** A process with some of the replicas of one lease. Ends when its parent disconnects. */
import type { HerdCommand, HerdReport } from './messages.ts'
import { standing, type StandingSetup } from './standing.ts'

const replicas = new Map<string, ReturnType<typeof standing>>()

process.on('message', (command: HerdCommand) => {
  if (command.kind === 'start') start(command.setup)
  else void replicas.get(command.user)?.manager.stepDown()
})
process.once('disconnect', () => process.exit(0))

function start(setup: StandingSetup): void {
  const { user } = setup
  const replica = standing(setup)
  replicas.set(user, replica)
  replica.manager.on(({ kind }) => {
    const { state } = replica.manager
    if (kind === 'renewed') tell({ kind: 'renewed' })
    else
      tell({ kind: 'state', user, state: state.kind, leader: state.kind === 'following' ? state.observedLeader : '' })
  })
  replica.start()
}

function tell(report: HerdReport): void {
  process.send?.(report)
}
