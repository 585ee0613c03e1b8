import type { LeaseModel } from '../models.ts'
import type { CodeReplica, SentWrite } from './code-replica.ts'
import type { CodeWorld } from './code-world.ts'
import type { HeldRequest } from './held-lock.ts'
import { type Name, NAMES } from './model-state.ts'

/** Something that happens to the replicas, in the terms of the code. */
export interface Command {
  readonly name: string
  /** The step of the model; undefined for what the model does not show. */
  readonly action: string | undefined
  /** Whether it may show nothing new. */
  readonly mayStutter: boolean
  readonly run: (world: CodeWorld) => void | Promise<void>
}

/** All that may happen now, whatever the model says. Only the bounds of the model count. */
export function commandsIn(world: CodeWorld, model: LeaseModel): readonly Command[] {
  const commands = [command('tick', 'Tick', (one) => one.tick())]
  const { here } = world.hist.at(-1)?.rec ?? { here: false }
  const deletions = world.hist.slice(1).filter(({ rec }) => !rec.here).length
  if (here && deletions < (model.deletions ?? 0) && world.version < model.versions) {
    commands.push(command('delete', 'Delete', (one) => one.deleteLease()))
  }
  for (const name of NAMES) {
    commands.push(...requestCommands(world, name, model), ...processCommands(world, name, model))
  }
  return commands
}

function command(name: string, action: string | undefined, run: Command['run'], mayStutter = false): Command {
  return { name, action, run, mayStutter: mayStutter || action === undefined }
}

function requestCommands(world: CodeWorld, name: Name, model: LeaseModel): readonly Command[] {
  const commands: Command[] = []
  for (const [slot, write] of world.writes[name].entries()) {
    if (write === undefined || !world.mayLand(write)) continue
    commands.push(command(`lose ${name} ${slot}`, 'Lose', (one) => one.lose(name, slot)))
    if (world.version < model.versions) {
      commands.push(
        command(`land ${name} ${slot}`, 'TakeEffect', (one) => one.takeEffect(name, writeOf(one.writes[name][slot]))),
      )
    }
  }
  const { write, read } = world.replica(name)
  if (write !== undefined && write.request.isOpen) commands.push(...answerCommands(world, name, write))
  if (read !== undefined && read.isOpen) commands.push(readCommand(world, name, read))
  return commands
}

function readCommand(world: CodeWorld, name: Name, read: HeldRequest): Command {
  const { view, clock, timing } = world.replica(name)
  if (clock.now() - read.sentAt > timing.requestTimeoutMs) {
    return command(`time out read ${name}`, undefined, (one) => one.replica(name).timeOut(readOf(one, name)))
  }
  return command(`read ${name}`, world.version > view ? 'See' : undefined, (one) => one.answerRead(name), true)
}

function readOf(world: CodeWorld, name: Name): HeldRequest {
  const { read } = world.replica(name)
  if (read === undefined) throw new Error('There is no read in flight')
  return read
}

function answerCommands(world: CodeWorld, name: Name, write: SentWrite): readonly Command[] {
  const { view, clock, timing } = world.replica(name)
  const ageMs = clock.now() - write.request.sentAt
  const isLate = ageMs > timing.requestTimeoutMs
  const commands: Command[] = []
  if (isLate && (write.done || !world.mayLand(write))) {
    commands.push(
      command(`time out ${name}`, undefined, (one) => one.replica(name).timeOut(openWrite(one, name).request)),
    )
  }
  if (write.done && !isLate) {
    const action = write.base + 1 > view ? 'See' : undefined
    commands.push(command(`answer ${name}`, action, (one) => one.answer(name, openWrite(one, name)), true))
  }
  if (!write.done && !world.mayLand(write)) {
    commands.push(command(`refuse ${name}`, undefined, (one) => one.refuse(name, openWrite(one, name))))
  }
  return commands
}

function processCommands(world: CodeWorld, name: Name, model: LeaseModel): readonly Command[] {
  const replica = world.replica(name)
  const { view, isDue, inc, tasks } = replica
  const commands: Command[] = []
  if (isDue) commands.push(command(`fire ${name}`, undefined, (one) => one.replica(name).fire()))
  for (let version = view + 1; version <= world.version; version++) {
    commands.push(command(`see ${name} ${version}`, 'See', (one) => one.see(name, version)))
  }
  if (isHolding(replica)) {
    commands.push(command(`lose term ${name}`, 'Abort', (one) => one.replica(name).elector.lose('elector-failed')))
  }
  const { kind } = replica.elector.state
  if (replica.elector.state.kind === 'draining' && replica.elector.state.drain.kind === 'empty') {
    commands.push(command(`give up ${name}`, 'Leave', (one) => one.replica(name).elector.lose('elector-failed')))
  }
  if (kind === 'leading') {
    const order = { reason: 'step-down', cooldownMs: 0, to: 'nobody.0', answerTimeoutMs: 0 } as const
    commands.push(command(`step down ${name}`, 'StepDown', (one) => one.replica(name).elector.stepDown(order)))
  }
  if (tasks && (kind === 'draining' || kind === 'aborting'))
    commands.push(command(`drained ${name}`, 'Drained', (one) => drain(one, name)))
  if (inc < (model.restarts ?? 0)) commands.push(command(`crash ${name}`, 'Crash', (one) => one.crash(name)))
  return commands
}

function drain(world: CodeWorld, name: Name): void {
  const replica = world.replica(name)
  replica.tasks = false
  replica.elector.drained()
}

function isHolding({ elector: { state } }: CodeReplica): boolean {
  if (state.kind === 'draining') return state.drain.kind !== 'empty'
  return state.kind === 'leading' || state.kind === 'reserving'
}

function openWrite(world: CodeWorld, name: Name): SentWrite {
  return writeOf(world.replica(name).write)
}

function writeOf(write: SentWrite | undefined): SentWrite {
  if (write === undefined) throw new Error('There is no such write')
  return write
}
