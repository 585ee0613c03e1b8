import childProcess, { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Ledger } from '../ledger.ts'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import type { Tracker } from '../tracker.ts'
import { isUnobserved, unobserved } from '../unobserved.ts'

/** What every child inherits, and so do its own children. */
const MARK = 'TENURE_LEAK_WATCH'

interface SpawnOptions {
  envPairs?: string[]
}

type Call = (this: unknown, ...args: unknown[]) => unknown

let marks = 0

/**
 * Processes that outlive the child that started them: children of a killed child, and background jobs of a shell. They are found by
 * the environment that they inherited, even if their parent has changed. Linux only.
 */
export const trackDescendants: Tracker = ({ ledger }) =>
  undoAll([
    watchSpawn(ledger),
    ...(['spawnSync', 'execSync', 'execFileSync'] as const).map((method) => watchSync(ledger, method)),
  ])

function watchSpawn(ledger: Ledger): Undo {
  const prototype = ChildProcess.prototype as unknown as {
    spawn: (this: ChildProcess, options: SpawnOptions) => unknown
  }
  return replaceProperty(
    prototype,
    'spawn',
    (original) =>
      function spawn(this: ChildProcess, options) {
        if (isUnobserved() || !Array.isArray(options.envPairs)) return original.call(this, options)
        const mark = nextMark()
        options.envPairs.push(mark)
        const ref = new WeakRef(this)
        const result = original.call(this, options)
        const { pid } = this
        enter(ledger, mark, pid, () => {
          const child = ref.deref()
          return child !== undefined && child.exitCode === null && child.signalCode === null
        })
        return result
      },
  )
}

function watchSync(ledger: Ledger, method: 'spawnSync' | 'execSync' | 'execFileSync'): Undo {
  return replaceProperty(childProcess as unknown as Record<typeof method, Call>, method, (original) => (...args) => {
    if (isUnobserved()) return original(...args)
    const mark = nextMark()
    try {
      return original(...withMark(args, mark))
    } finally {
      enter(ledger, mark, undefined, () => false)
    }
  })
}

/** The options are the last argument that is an object and no list. */
function withMark(args: readonly unknown[], mark: string): readonly unknown[] {
  const [name = '', value = ''] = mark.split('=')
  const index = args.findLastIndex((arg) => typeof arg === 'object' && arg !== null && !Array.isArray(arg))
  const options = index < 0 ? {} : (args[index] as { env?: object })
  const marked = { ...options, env: { ...(options.env ?? process.env), [name]: value } }
  return index < 0 ? [...args.filter((arg) => arg !== undefined), marked] : args.with(index, marked)
}

function nextMark(): string {
  return `${MARK}=${process.pid}.${marks++}`
}

function enter(ledger: Ledger, mark: string, child: number | undefined, isRunning: () => boolean): void {
  const descendants = () => (present(ledger).get(mark) ?? []).filter((pid) => pid !== child)
  ledger.add({
    isAlive: () => isRunning() || descendants().length > 0,
    describe() {
      const [pid] = descendants()
      if (pid === undefined) return undefined
      return { kind: 'child-process', detail: `\`${nameOf(pid)}\`, pid ${pid}, started by a child`, isPart: true }
    },
  })
}

let seen: ReadonlyMap<string, readonly number[]> = new Map()
let seenIn: readonly [ledger: Ledger, pass: number] | undefined

/** The processes of this machine that have a mark, by mark: listed once for all. */
function present(ledger: Ledger): ReadonlyMap<string, readonly number[]> {
  if (seenIn?.[0] !== ledger || seenIn[1] !== ledger.pass) seen = unobserved(listMarked)
  seenIn = [ledger, ledger.pass]
  return seen
}

function listMarked(): ReadonlyMap<string, readonly number[]> {
  const marked = new Map<string, number[]>()
  for (const pid of processes()) {
    for (const mark of marksOf(pid)) marked.set(mark, [...(marked.get(mark) ?? []), pid])
  }
  return marked
}

function processes(): readonly number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

/** Returns no mark for a process that is gone or belongs to another user. */
function marksOf(pid: number): readonly string[] {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1')
    return environment.includes(MARK) ? environment.split('\0').filter((pair) => pair.startsWith(`${MARK}=`)) : []
  } catch {
    return []
  }
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return ''
  }
}
