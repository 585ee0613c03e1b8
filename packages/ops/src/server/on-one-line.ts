/** A text without line breaks: the message of an error may have several lines. */
export function onOneLine(text: string): string {
  return text.replaceAll(/\s*[\r\n]\s*/g, ' ')
}
