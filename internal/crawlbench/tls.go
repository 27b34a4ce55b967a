package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// secure puts TLS on top of l, with a certificate for each address that l listens at. That of the
// authority behind them is written to file; "": l stays as it is. Protocols are offered for ALPN.
func secure(l net.Listener, file string, protocols ...string) (secured net.Listener, scheme string, err error) {
	if file == "" {
		return l, "http", nil
	}
	ca, err := newAuthority(file)
	if err != nil {
		return nil, "", err
	}
	return tls.NewListener(l, &tls.Config{GetCertificate: ca.certificate, NextProtos: protocols}), "https", nil
}

// An authority signs certificates for the addresses that are asked.
type authority struct {
	root *x509.Certificate
	key  *ecdsa.PrivateKey

	mu    sync.Mutex
	certs map[netip.Addr]*tls.Certificate
}

// newAuthority makes one and writes its own certificate to file.
func newAuthority(file string) (*authority, error) {
	a := &authority{certs: map[netip.Addr]*tls.Certificate{}, root: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "crawlbench"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a.key = key
	der, err := x509.CreateCertificate(rand.Reader, a.root, a.root, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return a, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}

// certificate returns the one for the address that a client has connected to.
func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	at := hello.Conn.LocalAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.certs[at]; c != nil {
		return c, nil
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(a.certs)) + 2), NotBefore: a.root.NotBefore, NotAfter: a.root.NotAfter,
		IPAddresses: []net.IP{at.AsSlice()}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.root, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
	a.certs[at] = c
	return c, nil
}
