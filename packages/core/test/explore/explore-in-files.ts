import { type Cell, type Exploration, type ExploreOptions, Search } from './explore.ts'
import { type Checkpoint, FrontierFiles } from './frontier-files.ts'

/** Options of an exploration in files. */
interface ExploreInFilesOptions extends ExploreOptions {
  /** The folder of the files. An exploration that was interrupted there continues. */
  readonly folder: string
  /** A hash of the sources that run. */
  readonly sources: string
  /** Called with the number of worlds, before each file is expanded. */
  readonly onProgress?: (states: number) => void
}

/**
 * Visits the same worlds as {@link explore}, in the same order. Memory holds the fingerprints and one file of worlds; the other worlds that
 * are to be expanded are in files. Continues where it was interrupted, or where it ended with fewer worlds.
 *
 * @throws Error if the folder holds the worlds of other sources
 */
export function exploreInFiles({ folder, sources, onProgress, ...options }: ExploreInFilesOptions): Exploration {
  const files = new FrontierFiles(folder, sources)
  const search = new Search(options)
  let at = resumed(search, files)
  for (; !at.isExhausted; at = advanced(at, files)) {
    onProgress?.(search.states)
    const found = search.expand(files.read(at.depth, at.next))
    if (search.isOver) return search.result(at.depth)
    const written = files.write(at.depth + 1, at.found, found)
    const sizes = [...at.sizes, search.states]
    files.writeHistory(at.sizes.length, search.entriesFrom(at.sizes.at(-1) ?? 0))
    at = { ...at, next: at.next + 1, found: written, sizes, cells: search.cells }
  }
  return search.result(at.depth)
}

/** The search as of the checkpoint in the files. */
function resumed(search: Search, files: FrontierFiles): Checkpoint {
  const at = files.checkpoint
  if (at.sizes.length === 0) {
    const count = files.write(0, 0, [search.begin()])
    files.writeHistory(0, search.entriesFrom(0))
    return { ...at, files: count, sizes: [search.states] }
  }
  for (const number of at.sizes.keys()) search.restore(files.readHistory(number), at.cells as readonly Cell[])
  return at
}

/** Saves the checkpoint after a file, and removes the file. Goes one step deeper after the last one. */
function advanced(after: Checkpoint, files: FrontierFiles): Checkpoint {
  const isLast = after.next === after.files
  const next = isLast
    ? { ...after, depth: after.depth + 1, next: 0, files: after.found, found: 0, isExhausted: after.found === 0 }
    : after
  files.save(next)
  files.remove(after.depth, after.next - 1)
  return next
}
