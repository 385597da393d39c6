#pragma once
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* BIO_get_mem_data is a macro over BIO_ctrl. The bytes belong to the BIO. */
static inline long copenssl_bio_contents(BIO *bio, char **bytes) {
    return BIO_get_mem_data(bio, bytes);
}

/* EVP_EC_gen is a macro over a variadic call. The caller owns the key. */
static inline EVP_PKEY *copenssl_generate_p256(void) {
    return EVP_EC_gen("P-256");
}

/* EVP_RSA_gen is a macro over a variadic call. The caller owns the key. */
static inline EVP_PKEY *copenssl_generate_rsa(unsigned int bits) {
    return EVP_RSA_gen(bits);
}

/* Macros over SSL_CTX_ctrl and SSL_ctrl, which take their argument as a number or a void pointer; SSL_OP_… are computed. */
static inline int copenssl_set_least_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}

static inline int copenssl_add_chain_certificate(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}

static inline void copenssl_set_mode(SSL_CTX *context, long mode) {
    SSL_CTX_set_mode(context, mode);
}

static inline void copenssl_set_read_ahead(SSL_CTX *context) {
    SSL_CTX_set_read_ahead(context, 1);
}

static inline void copenssl_no_session_cache(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

static inline void copenssl_no_tickets(SSL_CTX *context) {
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
}

static inline void copenssl_forbid_renegotiation(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
}

static inline int copenssl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

/* ERR_GET_REASON is an inline function over macros. One of SSL_R_…; 0 for an error of another part of OpenSSL. */
static inline int copenssl_tls_reason(unsigned long code) {
    return ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
}

/* OPENSSL_free is a macro that adds file and line. Frees what i2d_ functions allocated. */
static inline void copenssl_free(void *memory) {
    OPENSSL_free(memory);
}
