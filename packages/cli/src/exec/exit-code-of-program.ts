import { constants } from 'node:os'
import { EXIT_CODE } from 'tenure'
import type { ProgramEnd } from './program.ts'

/** A shell adds the number of the signal to this. */
const SIGNALLED = 128

/** The exit code of a program, as shells report it: 128 plus the number of the signal if one ended it. */
export function exitCodeOfEnd({ exitCode, signal }: Pick<ProgramEnd, 'exitCode' | 'signal'>): number {
  if (exitCode !== null) return exitCode
  return SIGNALLED + (signal === null ? 0 : constants.signals[signal])
}

/**
 * The exit code after a requested stop: that of the program if it ran and got the stop signal. Death by SIGTERM or by that signal is then a
 * clean stop, and so is the code with which a JVM or a shell reports it.
 */
export function exitCodeOfStop(end: ProgramEnd | undefined, stopSignal: NodeJS.Signals): number {
  if (end === undefined || !end.wasAsked) return EXIT_CODE.clean
  const code = exitCodeOfEnd(end)
  const isClean = [stopSignal, 'SIGTERM' as const].some((signal) => code === SIGNALLED + constants.signals[signal])
  return isClean ? EXIT_CODE.clean : code
}
