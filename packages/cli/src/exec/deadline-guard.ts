import { type ChildProcess, spawn } from 'node:child_process'
import type { CandidacyEvent, Extension } from 'tenure'

/**
 * Reads a deadline in milliseconds of the monotonic clock of the machine from each line; 0 for none. Kills the process that it guards at the
 * deadline, and ends with its input. A paused process dies of SIGKILL, too. PID 1 does not die of it: then all other processes of the
 * container are killed.
 */
const SOURCE = `
const pid = Number(process.argv[1])
const now = () => Number(process.hrtime.bigint() / 1000n) / 1000
let text = ''
let timer
const hold = (deadline) => {
  clearTimeout(timer)
  if (deadline > 0) timer = setTimeout(fire, Math.max(0, deadline - now()), deadline)
}
const fire = (deadline) => {
  if (now() < deadline) return hold(deadline)
  try { process.kill(pid === 1 ? -1 : pid, 'SIGKILL') } catch {}
}
for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM']) process.on(signal, () => {})
process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (text + chunk).split('\\n')
  text = lines.pop()
  if (lines.length > 0) hold(Number(lines.at(-1)))
}).on('end', () => process.exit())
`

/** Options of {@link deadlineGuard}. */
export interface DeadlineGuardOptions {
  /** Milliseconds for which the present term may act without a further renewal; 0 on a follower. */
  readonly remainingMs: () => number
  /** How long before that the process is killed, in milliseconds. */
  readonly marginMs: number
}

/**
 * A process that kills this one if it stands still while it leads: paused by SIGSTOP, Ctrl-Z or a debugger, or without processor time. A
 * program is a process of its own and would continue beside the next leader. The guard of `term.child()` then kills the program.
 *
 * It acts after the hard abort, so it kills only a process that did not carry that out. It starts before any term, because a program should
 * not wait for it.
 */
export function deadlineGuard({ remainingMs, marginMs }: DeadlineGuardOptions): Extension {
  let guard: ChildProcess | undefined
  const hold = (leftMs: number): void => {
    // A guard that has died is replaced.
    if (guard === undefined || guard.exitCode !== null || guard.signalCode !== null) guard = start()
    tell(guard, monotonicMs() + leftMs - marginMs)
  }
  const onEvent = (event: CandidacyEvent): void => {
    const leftMs = remainingMs()
    const change = changeOfDeadline(event, leftMs)
    if (change === 'hold') hold(leftMs)
    if (change === 'lift' && guard !== undefined) tell(guard, 0)
  }
  return {
    name: 'deadline-guard',
    start: () => void (guard = start()),
    onEvent,
    stop: () => void guard?.stdin?.end(),
  }
}

/**
 * What an event does to the deadline. `hold`: it is as far away as the term may last. `lift`: nothing of the program is left, and the release
 * may take long. A renewal may be acknowledged between the two, when the term may not act any more: it leaves the deadline as it is.
 */
export function changeOfDeadline(event: CandidacyEvent, remainingMs: number): 'hold' | 'lift' | 'keep' {
  if (event.kind === 'term-over' || (event.kind === 'state' && event.to.kind === 'releasing')) return 'lift'
  const isConfirmed = event.kind === 'term-began' || event.kind === 'renewed'
  return isConfirmed && remainingMs > 0 ? 'hold' : 'keep'
}

function tell(guard: ChildProcess, deadline: number): void {
  if (guard.stdin?.writable === true) guard.stdin.write(`${deadline.toFixed(3)}\n`)
}

/** The clock that all processes of the machine share. */
function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000
}

function start(): ChildProcess {
  // In a session of its own, Ctrl-C in a terminal does not reach it. Options of Node, such as a debugger, are not for the guard.
  const guard = spawn(process.execPath, ['--eval', SOURCE, String(process.pid)], {
    cwd: '/',
    env: { ...process.env, NODE_OPTIONS: undefined },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guard.unref()
  guard.on('error', () => {})
  const { stdin } = guard
  // A broken pipe: the guard was killed.
  stdin.on('error', () => {})
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  return guard
}
