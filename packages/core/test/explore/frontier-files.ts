import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { ResultsFile } from '../../../../bench/results-file.ts'
import type { Found } from './explore.ts'
import type { Entries } from './history.ts'

/** The number of worlds in a file. */
const WORLDS = 4000

/** How far an exploration has come, as of the last file of worlds that was expanded to the end. */
export interface Checkpoint {
  readonly depth: number
  /** The file of this depth that comes next. */
  readonly next: number
  /** The number of files of this depth. */
  readonly files: number
  /** The number of files of the next depth so far. */
  readonly found: number
  /** The number of worlds in each file of the history. */
  readonly sizes: readonly number[]
  readonly cells: readonly string[]
  /** Whether every world was expanded. */
  readonly isExhausted: boolean
}

/** The first checkpoint, before any world is expanded. */
const NOTHING: Checkpoint = {
  depth: 0,
  next: 0,
  files: 0,
  found: 0,
  sizes: [],
  cells: [],
  isExhausted: false,
}

/**
 * An exploration in files: the worlds that are not expanded yet, and the fingerprints of all. Files are written before the checkpoint that
 * counts them, so that an exploration can be interrupted at any moment.
 */
export class FrontierFiles {
  readonly #folder: string
  readonly #checkpoint: ResultsFile<Checkpoint>

  /** `sources`: a hash of the sources that run. @throws Error if the folder has the worlds of others */
  constructor(folder: string, sources: string) {
    this.#folder = folder
    mkdirSync(folder, { recursive: true })
    this.#checkpoint = new ResultsFile(join(folder, 'checkpoint.json'), sources, NOTHING)
  }

  /** As of the end of the run before. */
  get checkpoint(): Checkpoint {
    return this.#checkpoint.earlier
  }

  save(checkpoint: Checkpoint): void {
    this.#checkpoint.save(checkpoint)
  }

  read(depth: number, number: number): readonly Found[] {
    return this.#read(`worlds-${depth}-${number}`) as readonly Found[]
  }

  /** Writes worlds of a depth into files from this number on. Returns the number after the last one. */
  write(depth: number, from: number, worlds: readonly Found[]): number {
    let number = from
    for (let start = 0; start < worlds.length; start += WORLDS)
      this.#write(`worlds-${depth}-${number++}`, worlds.slice(start, start + WORLDS))
    return number
  }

  /** Removes a file of worlds that were expanded. */
  remove(depth: number, number: number): void {
    rmSync(join(this.#folder, `worlds-${depth}-${number}`), { force: true })
  }

  readHistory(number: number): Entries {
    return this.#read(`history-${number}`) as Entries
  }

  writeHistory(number: number, entries: Entries): void {
    this.#write(`history-${number}`, entries)
  }

  #read(name: string): unknown {
    return deserialize(inflateRawSync(readFileSync(join(this.#folder, name))))
  }

  #write(name: string, value: unknown): void {
    writeFileSync(join(this.#folder, name), deflateRawSync(serialize(value), { level: 1 }))
  }
}
