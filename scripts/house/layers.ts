import type { ImportGraph } from './import-graph.ts'

/*
 * The direction of imports. A file may import from its own room and from the rooms before it, never from a room after it. Rooms of
 * one line are side by side and do not import each other.
 */

/** The packages, by folder. */
const PACKAGES: readonly (readonly string[])[] = [
  ['core'],
  ['kubernetes', 'ops', 'file-lock', 'testing', 'api-server'],
  ['simulator'],
  ['tenure'],
  ['cli'],
]

/** Packages for development. Only the packages in {@link DEVELOPS} import them. */
const DEVELOPMENT: ReadonlySet<string> = new Set(['testing', 'api-server', 'simulator'])
const DEVELOPS: ReadonlySet<string> = new Set(['simulator', 'cli'])

/** The folders of `@tenure/core`. `.` stands for the files beside them, without the entries. */
const CORE: readonly (readonly string[])[] = [
  ['.', 'options', 'ports'],
  ['lock', 'health', 'gate', 'watchdog', 'drain'],
  ['election'],
  ['term'],
  ['controller'],
  ['candidacy'],
  ['manager'],
  ['entry'],
]

/** An import against the direction. */
export interface UpwardImport {
  readonly file: string
  readonly imports: string
}

/** Lists the imports against the direction. */
export function findUpwardImports(graph: ImportGraph): readonly UpwardImport[] {
  return [...graph].flatMap(([file, targets]) =>
    targets.filter((target) => !isAllowed(file, target)).map((imports) => ({ file, imports })),
  )
}

function isAllowed(file: string, target: string): boolean {
  const from = packageOf(file)
  const to = packageOf(target)
  if (from !== to) return isBelow(PACKAGES, to, from) && (DEVELOPS.has(from) || !DEVELOPMENT.has(to))
  if (from !== 'core') return true
  return roomOf(file) === roomOf(target) || isBelow(CORE, roomOf(target), roomOf(file)) || isBottom(file, target)
}

/** The rooms of the bottom line of core share their small functions. */
function isBottom(file: string, target: string): boolean {
  return [file, target].every((path) => CORE[0]?.includes(roomOf(path)))
}

function isBelow(lines: readonly (readonly string[])[], lower: string, upper: string): boolean {
  return lineOf(lines, lower) < lineOf(lines, upper)
}

function lineOf(lines: readonly (readonly string[])[], room: string): number {
  const line = lines.findIndex((rooms) => rooms.includes(room))
  if (line === -1)
    throw new Error(`Expected every folder to have a place in scripts/house/layers.ts, but \`${room}\` has none`)
  return line
}

function packageOf(path: string): string {
  return path.split('/')[1] ?? ''
}

function roomOf(path: string): string {
  const [, , , folder = '', ...rest] = path.split('/')
  if (rest.length > 0) return folder
  return folder === 'index.ts' || folder === 'internal.ts' ? 'entry' : '.'
}
