/** A stay as a file for calendars. Made here: nothing is sent anywhere. */

const plain = (date: string) => date.replaceAll("-", "");
const escaped = (text: string) => text.replace(/([\\,;])/g, "\\$1").replaceAll("\n", "\\n");

export function calendarFile(name: string, checkIn: string, checkOut: string, id: string): string {
  const lines = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//Tickettock//EN",
    "BEGIN:VEVENT",
    `UID:${id}@tickettock`,
    `DTSTAMP:${new Date().toISOString().replace(/[-:]|\.\d+/g, "")}`,
    `DTSTART;VALUE=DATE:${plain(checkIn)}`,
    `DTEND;VALUE=DATE:${plain(checkOut)}`,
    `SUMMARY:${escaped(name)}`,
    `DESCRIPTION:${escaped(id)}`,
    "END:VEVENT",
    "END:VCALENDAR",
  ];
  return `${lines.join("\r\n")}\r\n`;
}

export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/calendar" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
