package store

// Two tables with one letter do not compile: the keys of a map literal must differ.
var _ = map[byte]bool{
	tableMeta: true, tableURL: true, tableDoc: true, tableSiteDoc: true, tableQueue: true, tableLinks: true, tableVisit: true, tableSite: true,
	tableSiteName: true, tableCounters: true, tableCycle: true, tableCycleIndex: true, tablePast: true, tableNew: true, tableRefetch: true,
	tableRecord: true, tableRecords: true, tableState: true, tableSummary: true, tableChanged: true, tableHost: true, tableRobots: true, tableRefusal: true,
	tableDigest: true, tableEvent: true, tableTold: true, tableWatched: true, tableDelivery: true, tablePayload: true, tableCapture: true, tableText: true,
	tableRequisite: true, tableKnown: true, tableOutgoing: true,
}
