package machine

import "testing"

func TestMachine(t *testing.T) {
	if free := FreeMemory(); free == 0 {
		t.Errorf("FreeMemory() = 0")
	}
	dir := t.TempDir()
	if FreeDisk(dir) <= 0 || Device(dir) == 0 {
		t.Errorf("FreeDisk = %d, Device = %d of a folder that exists", FreeDisk(dir), Device(dir))
	}
	if free, device := FreeDisk(dir+"/missing"), Device(dir+"/missing"); free != 0 || device != 0 {
		t.Errorf("FreeDisk = %d, Device = %d of a folder that does not exist; want 0", free, device)
	}
	before := PeakRSS()
	page := make([]byte, 64<<20)
	for i := 0; i < len(page); i += 4096 {
		page[i] = 1
	}
	if after := PeakRSS(); before <= 0 || after < before+32<<20 {
		t.Errorf("PeakRSS() = %d, and %d after 64 MiB were touched", before, after)
	}
	if page[0] != 1 {
		t.Error("kept alive")
	}
}
