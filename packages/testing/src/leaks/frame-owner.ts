import { fileURLToPath } from 'node:url'
import type { Frame } from './frame.ts'

type File = Pick<Frame, 'file'>

/** Whose code a frame is in. */
type Owner = 'node' | 'detector' | 'test-runner' | 'core' | 'library' | 'user'

/** The folder of the detector itself, and that of `@tenure/core`, with a separator at the end. */
const OWN = fileURLToPath(new URL('.', import.meta.url))
const CORE = fileURLToPath(new URL('.', import.meta.resolve('@tenure/core')))

const TEST_RUNNER = /[\\/]node_modules[\\/](?:vitest|@vitest|vite|vite-node|tinypool|tinybench|jest[\w-]*|@jest)[\\/]/

/** Files are few and frames are many. */
const owners = new Map<string, Owner>()

function ownerOf({ file }: File): Owner {
  const known = owners.get(file)
  if (known !== undefined) return known
  const owner = judge(file)
  owners.set(file, owner)
  return owner
}

function judge(file: string): Owner {
  if (file.startsWith('node:internal/test_runner') || TEST_RUNNER.test(file)) return 'test-runner'
  if (file === '' || file.startsWith('node:')) return 'node'
  const path = file.startsWith('file://') ? fileURLToPath(file) : file
  if (path.startsWith(OWN)) return 'detector'
  if (path.startsWith(CORE)) return 'core'
  return /[\\/]node_modules[\\/]/.test(path) ? 'library' : 'user'
}

/** Whether the code belongs to Node. */
export function isNodeFrame(frame: File): boolean {
  return ownerOf(frame) === 'node'
}

/** Whether the code belongs to this detector. */
export function isOwnFrame(frame: File): boolean {
  return ownerOf(frame) === 'detector'
}

/** Whether the code belongs to what runs the tests. */
export function isTestRunnerFrame(frame: File): boolean {
  return ownerOf(frame) === 'test-runner'
}

/** Whether the code belongs to the core of Tenure. */
export function isCoreFrame(frame: File): boolean {
  return ownerOf(frame) === 'core'
}

/** Whether the code is worth showing: that of the project, or of something that it uses. */
export function isLibraryFrame(frame: File): boolean {
  const owner = ownerOf(frame)
  return owner === 'user' || owner === 'library' || owner === 'core'
}

/** Whether the code is that of the project under test. */
export function isUserFrame(frame: File): boolean {
  return ownerOf(frame) === 'user'
}
