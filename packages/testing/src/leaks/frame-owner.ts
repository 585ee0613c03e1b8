import { fileURLToPath } from 'node:url'
import type { Frame } from './frame.ts'

type File = Pick<Frame, 'file'>

/** The owner of the code that a frame belongs to. */
type Owner = 'node' | 'detector' | 'test-runner' | 'core' | 'library' | 'user'

/** The folders of the detector and of `@tenure/core`, each with a trailing separator. */
const OWN = fileURLToPath(new URL('.', import.meta.url))
const CORE = fileURLToPath(new URL('.', import.meta.resolve('@tenure/core')))

const TEST_RUNNER = /[\\/]node_modules[\\/](?:vitest|@vitest|vite|vite-node|tinypool|tinybench|jest[\w-]*|@jest)[\\/]/

/** A cache by file: many frames share few files. */
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

/** Whether the code belongs to a test runner. */
export function isTestRunnerFrame(frame: File): boolean {
  return ownerOf(frame) === 'test-runner'
}

/** Whether the code belongs to the core of Tenure. */
export function isCoreFrame(frame: File): boolean {
  return ownerOf(frame) === 'core'
}

/** Whether the report shows the code: code of the project or of its dependencies. */
export function isLibraryFrame(frame: File): boolean {
  const owner = ownerOf(frame)
  return owner === 'user' || owner === 'library' || owner === 'core'
}

/** Whether the code belongs to the project under test. */
export function isUserFrame(frame: File): boolean {
  return ownerOf(frame) === 'user'
}
