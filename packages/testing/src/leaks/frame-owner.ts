import { fileURLToPath } from 'node:url'
import type { Frame } from './frame.ts'

type File = Pick<Frame, 'file'>

/** The folder of the detector itself, and that of `@tenure/core`, with a separator at the end. */
const OWN = fileURLToPath(new URL('.', import.meta.url))
const CORE = folderOf(import.meta.resolve('@tenure/core'))

const TEST_RUNNER = /[\\/]node_modules[\\/](?:vitest|@vitest|vite|vite-node|tinypool|tinybench|jest[\w-]*|@jest)[\\/]/

/** Whether the code belongs to Node. */
export function isNodeFrame({ file }: File): boolean {
  return file.startsWith('node:') || file === ''
}

/** Whether the code belongs to this detector. */
export function isOwnFrame({ file }: File): boolean {
  return pathOf(file).startsWith(OWN)
}

/** Whether the code belongs to what runs the tests. */
export function isTestRunnerFrame({ file }: File): boolean {
  return TEST_RUNNER.test(file) || file.startsWith('node:internal/test_runner')
}

/** Whether the code belongs to the core of Tenure. */
export function isCoreFrame({ file }: File): boolean {
  return pathOf(file).startsWith(CORE)
}

/** Whether the code is neither the user's nor Node's, and is worth showing where nothing of the user's is. */
export function isLibraryFrame(frame: File): boolean {
  return !isNodeFrame(frame) && !isOwnFrame(frame) && !isTestRunnerFrame(frame)
}

/** Whether the code is that of the project under test. */
export function isUserFrame(frame: File): boolean {
  return isLibraryFrame(frame) && !isCoreFrame(frame) && !/[\\/]node_modules[\\/]/.test(frame.file)
}

function pathOf(file: string): string {
  return file.startsWith('file://') ? fileURLToPath(file) : file
}

function folderOf(url: string): string {
  return fileURLToPath(new URL('.', url))
}
