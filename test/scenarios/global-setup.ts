import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { bundleProgram, type BundledProgram } from './bundle-program.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** What every replica of a scenario runs. */
    readonly replicaProgram: BundledProgram
  }
}

let folder: string | undefined

/** Bundles the program of the replicas once for all test files of a project. */
export async function setup({ provide }: TestProject): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'tenure-scenarios-'))
  provide('replicaProgram', await bundleProgram(join(import.meta.dirname, 'replica.ts'), folder))
}

export async function teardown(): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
