/** A replica as a user would write it, plus reports to the driver. Uses only the public API. */
import type { CandidateFacts, Manager } from '@tenure/core'
import { lifeLock } from '@tenure/kubernetes'
import { createManager, type CreateManagerOptions, type LeaseOptions } from 'tenure'
import { createController } from './replica-controllers.ts'
import type { ReplicaCommand, ReplicaReply } from './replica-event.ts'
import { measureFootprint } from './replica-footprint.ts'
import { report } from './replica-report.ts'
import { type ReplicaSetup, SETUP_VARIABLE } from './replica-setup.ts'

const setup: ReplicaSetup = JSON.parse(process.env[SETUP_VARIABLE] ?? '{}')
const { controllers, forLife = false, clockAheadMs = 0 } = setup
const wallTime = Date.now
Date.now = () => wallTime() + clockAheadMs

/** How this replica compares candidates, by the name of the comparison. */
const COMPARISONS: Readonly<Record<NonNullable<ReplicaSetup['compare']>, NonNullable<LeaseOptions['compare']>>> = {
  room: (a, b) => roomOf(b) - roomOf(a),
  throws: () => {
    throw new Error('it compares nothing')
  },
  circle: (a, b) => ((roomOf(a) - roomOf(b) + 3) % 3 === 1 ? 1 : roomOf(a) === roomOf(b) ? 0 : -1),
}
const roomOf = ({ attributes }: CandidateFacts): number => Number(attributes['room'])
const options: CreateManagerOptions =
  setup.compare === undefined
    ? setup.options
    : { ...setup.options, lease: { ...setup.options.lease, compare: COMPARISONS[setup.compare] } }

const lock: CreateManagerOptions['lock'] = ({ name, namespace }, { logger }) => lifeLock({ name, namespace, logger })
const manager = createManager(forLife ? { ...options, lock } : options)
for (const controller of controllers) manager.register(() => createController(controller))
manager.on(report)
obey(manager)
await manager.start()
report({ kind: 'returned' })

/** Listens to the driver without keeping the process alive. The process must end by itself after the manager has stopped. */
function obey(manager: Manager): void {
  process.on('message', (command: ReplicaCommand) => {
    void carryOut(manager, command).then((result) => report({ kind: 'reply', id: command.id, result }))
  })
  process.once('disconnect', () => process.exit(1))
  process.channel?.unref()
}

async function carryOut(manager: Manager, command: ReplicaCommand): Promise<ReplicaReply['result']> {
  switch (command.kind) {
    case 'step-down':
      return manager.stepDown(command.cooldownMs === undefined ? {} : { cooldownMs: command.cooldownMs })
    case 'measure':
      return measureFootprint()
    default:
      return command satisfies never
  }
}
